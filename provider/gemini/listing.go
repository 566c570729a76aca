package gemini

import (
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Models lists what the vendor has (docs: models.list). Of thinking it tells whether there is any. Cloud's list says
// nothing of it.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	if a.host.Cloud {
		return nil, provider.ErrNoList
	}
	if err := a.caller.NoKey(); err != nil {
		return nil, err
	}
	entries, err := a.caller.Pages(ctx, a.caller.BaseURL+"/v1beta/models?pageSize=1000", "pageToken", a.header(), "models",
		func(page gjson.Result) string { return page.Get("nextPageToken").Str })
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	for _, m := range entries {
		var does []string
		for _, method := range m.Get("supportedGenerationMethods").Array() {
			does = append(does, method.Str)
		}
		id := strings.TrimPrefix(m.Get("name").Str, "models/")
		if id == "" || !slices.Contains(does, "generateContent") {
			continue
		}
		row := provider.Model{
			Provider: a.caller.Provider, ID: id, Name: m.Get("displayName").Str, Tools: true,
			Window: provider.Tokens(m.Get("inputTokenLimit").Int()), MaxOutput: provider.Tokens(m.Get("outputTokenLimit").Int()),
			Source: provider.FromRefreshed, AsOf: provider.Today(),
		}
		if !m.Get("thinking").Bool() { // left out where there is none
			row.Thinking.Control = provider.ControlNone
		}
		list = append(list, row)
	}
	return list, nil
}
