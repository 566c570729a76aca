package exchange

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Without is the repair that leaves a member out of the requests to one model, since its host refused it by name. The
// member is a path with dots, as the API spells it.
func Without(api, member, model string) provider.Repair {
	return provider.Repair(api + "/without:" + member + "@" + model)
}

// Withheld lists the members that the session's repairs leave out of a request.
func Withheld(r *provider.Request, api string) []string {
	var list []string
	for _, repair := range r.Repairs {
		rest, ok := strings.CutPrefix(string(repair), api+"/without:")
		if member, model, found := strings.Cut(rest, "@"); ok && found && model == r.Model.ID {
			list = append(list, member)
		}
	}
	return list
}

// Withholds reports whether one of them is left out.
func Withholds(r *provider.Request, api, member string) bool {
	return slices.Contains(Withheld(r, api), member)
}

// NoMedia is the repair that shows a model no media, since its host refused them.
func NoMedia(api, model string) provider.Repair { return provider.Repair(api + "/no_media@" + model) }

// Row is the model's row, less what the session's repairs take from it.
func Row(r *provider.Request, api string) provider.Model {
	row := r.Model
	if slices.Contains(r.Repairs, NoMedia(api, row.ID)) {
		row.Input = []string{"text"}
	}
	return row
}
