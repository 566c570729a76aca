package gemini

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// mostPages bounds a list whose pages do not end.
const mostPages = 20

// Models lists what the vendor has (docs: models.list). Of thinking it tells whether there is any. Cloud's list says
// nothing of it.
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	if a.host.Cloud {
		return nil, provider.ErrNoList
	}
	if err := a.caller.NoKey(); err != nil {
		return nil, err
	}
	var list []provider.Model
	token := ""
	for range mostPages {
		address := a.caller.BaseURL + "/v1beta/models?pageSize=1000"
		if token != "" {
			address += "&pageToken=" + url.QueryEscape(token)
		}
		page, err := a.caller.List(ctx, address, a.header(), "models")
		if err != nil {
			return nil, err
		}
		for _, m := range page.Get("models").Array() {
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
		next := page.Get("nextPageToken").Str
		if next == "" || next == token {
			break
		}
		token = next
	}
	return list, nil
}
