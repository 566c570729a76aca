package registry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Vendor is a company or program that serves models, by the embedded catalog.
type Vendor struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	API          string             `json:"api"`              // the wire API of rows that name none
	Dialect      string             `json:"dialect"`          // the dialect of rows that name none
	BaseURL      string             `json:"default_base_url"` // empty: the operator configures it, or, for the simulator, it is in this process
	KeyEnv       string             `json:"key_env"`          // the environment variable with the key; empty: needs no key
	KeyEnvBefore string             `json:"key_env_before"`   // an older variable, which applies if KeyEnv is not set
	KeyEnvOther  string             `json:"key_env_other"`    // another variable of the vendor's pages, which applies if KeyEnv is not set
	BaseURLEnv   string             `json:"base_url_env"`
	Resells      bool               `json:"resells"`   // it serves models of other vendors; a bare id means the maker's model if that is configured
	Simulates    bool               `json:"simulates"` // its models are stand-ins: they are named with their provider only
	Login        string             `json:"login"`     // the kind of login, by the names of provider/login; empty: keys only
	DefaultModel string             `json:"default_model"`
	Patience     int                `json:"patience_s"` // the seconds of silence to accept before and within an answer; 0: the usual time
	Live         bool               `json:"live"`       // its server lists its models, and may be asked at any time
	Display      []provider.Display `json:"display"`    // of rows that name none
	Media        *VendorMedia       `json:"media"`      // of rows that name none, member by member
	Identity     string             `json:"identity"`   // the cloud whose identities it takes, by the names of provider/identity; empty: none
	Families     []Family           `json:"families"`   // how models are spoken to that no row describes, by their ids; the first that fits
	Redirected   map[string]string  `json:"redirected"` // ids under which another model answers, by its id: see [Catalog.Served]
}

// Family are the models of a vendor with similar ids.
type Family struct {
	Match   string `json:"match"` // a pattern of [path.Match]
	API     string `json:"api"`
	Dialect string `json:"dialect"`
}

// VendorMedia are the limits of media that hold for all models of a vendor, with the page that states them.
type VendorMedia struct {
	provider.MediaLimits
	Source string `json:"source"`
	AsOf   string `json:"as_of"` // YYYY-MM-DD
}

// Vendors returns the catalog's vendors in its fixed order, the simulator last.
func Vendors() []Vendor {
	var list []Vendor
	for _, v := range embedded() {
		list = append(list, v.Vendor)
	}
	return list
}

// VendorNamed returns a vendor by its id.
func VendorNamed(id string) (Vendor, bool) {
	v, ok := embeddedVendor(id)
	return v.Vendor, ok
}

//go:embed catalog.json
var catalogJSON string

type vendorRows struct {
	Vendor
	models func() []catalogRow // decoded at the first use: most vendors are not used
}

func (v vendorRows) rows() []catalogRow {
	if v.models == nil {
		return nil
	}
	return v.models()
}

// catalogRow is a model's row in the file. Its source is the document that states the facts, not a RowSource.
type catalogRow struct {
	provider.Model
	Aliases []string `json:"aliases"` // other ids that the vendor's API takes for the same model
	Source  string   `json:"source"`
}

// embedded reads the vendors of the file once, without their rows. It panics if the embedded file is invalid, which the
// tests of the package exclude.
var embedded = sync.OnceValue(func() []vendorRows {
	var list []vendorRows
	gjson.Get(catalogJSON, "vendors").ForEach(func(_, vendor gjson.Result) bool {
		var v vendorRows
		head := []byte{'{'}
		vendor.ForEach(func(key, value gjson.Result) bool {
			if key.Str == "models" {
				v.models = sync.OnceValue(func() (rows []catalogRow) {
					decodeCatalog([]byte(value.Raw), &rows)
					return rows
				})
				return true
			}
			if len(head) > 1 {
				head = append(head, ',')
			}
			head = append(append(append(head, key.Raw...), ':'), value.Raw...)
			return true
		})
		decodeCatalog(append(head, '}'), &v.Vendor)
		list = append(list, v)
		return true
	})
	return list
})

func decodeCatalog(text []byte, v any) {
	if err := json.Unmarshal(text, v); err != nil {
		panic(fmt.Sprintf("registry: catalog.json: %v", err))
	}
}

var vendorPlaces = sync.OnceValue(func() map[string]int {
	places := make(map[string]int)
	for i, v := range embedded() {
		places[v.ID] = i
	}
	return places
})

func embeddedVendor(id string) (vendorRows, bool) {
	i, ok := vendorPlaces()[id]
	if !ok {
		return vendorRows{}, false
	}
	return embedded()[i], true
}
