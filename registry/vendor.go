package registry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Vendor is who makes and serves models, as the catalog has it.
type Vendor struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	API          string             `json:"api"`              // the wire API, where a row names no other
	Dialect      string             `json:"dialect"`          // whose quirks it has
	BaseURL      string             `json:"default_base_url"` // empty: the operator's to say; the simulator's: inside this process
	KeyEnv       string             `json:"key_env"`          // the environment's variable for the key; empty: needs none
	KeyEnvBefore string             `json:"key_env_before"`   // an older variable for it, which still counts where KeyEnv is not set
	BaseURLEnv   string             `json:"base_url_env"`
	Resells      bool               `json:"resells"` // models of other vendors: a bare id means the maker's, if that is there
	Login        string             `json:"login"`   // how one can log in, as provider/login names it; empty: there are keys alone
	DefaultModel string             `json:"default_model"`
	Patience     int                `json:"patience_s"` // for how many seconds it may be silent, before an answer and in it; 0: no longer than others
	Live         bool               `json:"live"`       // its servers tell what they have, and may be asked at any time
	Display      []provider.Display `json:"display"`    // what a row has that does not say
	Redirected   map[string]string  `json:"redirected"` // ids under which another model answers, by its id: see [Catalog.Served]
}

// Vendors lists the catalog's vendors in its fixed order, the simulator last.
func Vendors() []Vendor {
	var list []Vendor
	for _, v := range embedded() {
		list = append(list, v.Vendor)
	}
	return list
}

// VendorNamed finds a vendor by its id.
func VendorNamed(id string) (Vendor, bool) {
	v, ok := embeddedVendor(id)
	return v.Vendor, ok
}

//go:embed catalog.json
var catalogJSON string

type vendorRows struct {
	Vendor
	models func() []catalogRow // decoded when somebody wants them: most vendors are not used
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

// embedded reads the file once: what it says of the vendors, not their rows. A file that is broken is a broken build, which
// the package's tests refuse.
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
