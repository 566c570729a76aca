package registry

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

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
	BaseURLEnv   string             `json:"base_url_env"`
	Resells      bool               `json:"resells"` // models of other vendors: a bare id means the maker's, if that is there
	Login        string             `json:"login"`   // how one can log in, as provider/login names it; empty: there are keys alone
	DefaultModel string             `json:"default_model"`
	Patience     int                `json:"patience_s"` // for how many seconds it may be silent, before an answer and in it; 0: no longer than others
	Live         bool               `json:"live"`       // its servers tell what they have, and may be asked at any time
	Display      []provider.Display `json:"display"`    // what a row has that does not say
}

// Vendors lists the catalog's vendors in its fixed order, the simulator last.
func Vendors() []Vendor {
	var list []Vendor
	for _, v := range embedded() {
		list = append(list, v.Vendor)
	}
	return list
}

//go:embed catalog.json
var catalogJSON []byte

type vendorRows struct {
	Vendor
	Models []catalogRow `json:"models"`
}

// catalogRow is a model's row in the file. Its source is the document that states the facts, not a RowSource.
type catalogRow struct {
	provider.Model
	Aliases []string `json:"aliases"` // other ids that the vendor's API takes for the same model
	Source  string   `json:"source"`
}

// embedded decodes the file once. A file that is broken is a broken build, which the package's tests refuse.
var embedded = sync.OnceValue(func() []vendorRows {
	var file struct {
		Vendors []vendorRows `json:"vendors"`
	}
	if err := json.Unmarshal(catalogJSON, &file); err != nil {
		panic(fmt.Sprintf("registry: catalog.json: %v", err))
	}
	return file.Vendors
})

func embeddedVendor(id string) (vendorRows, bool) {
	list := embedded()
	i := slices.IndexFunc(list, func(v vendorRows) bool { return v.ID == id })
	if i < 0 {
		return vendorRows{}, false
	}
	return list[i], true
}
