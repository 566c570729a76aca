package aws

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Models lists what an account can call in its region: models by their own ids, and the inference profiles of the others (docs:
// ListFoundationModels, ListInferenceProfiles). The lists say nothing of thinking, windows and prices. The caller's BaseURL is that of
// [Runtime].
func Models(ctx context.Context, c *exchange.Caller, header http.Header) ([]provider.Model, error) {
	if err := c.NoKey(); err != nil {
		return nil, err
	}
	base := Control(c.BaseURL)
	answer, err := c.List(ctx, base+"/foundation-models?byOutputModality=TEXT", header.Clone(), "modelSummaries")
	if err != nil {
		return nil, err
	}
	profiles, err := c.Pages(ctx, base+"/inference-profiles?maxResults=1000", "nextToken", header, "inferenceProfileSummaries",
		func(page gjson.Result) string { return page.Get("nextToken").Str })
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	facts := map[string]provider.Model{} // by the id of the model itself
	for _, m := range answer.Get("modelSummaries").Array() {
		id := m.Get("modelId").Str
		if id == "" || m.Get("responseStreamingSupported").Type == gjson.False {
			continue
		}
		row := listed(c.Provider, id, m)
		facts[id] = row
		if slices.Contains(texts(m.Get("inferenceTypesSupported")), "ON_DEMAND") {
			list = append(list, row)
		}
	}
	for _, p := range profiles {
		id, of := p.Get("inferenceProfileId").Str, p.Get("models.0.modelArn").Str
		row, ok := facts[of[strings.LastIndexByte(of, '/')+1:]]
		if id == "" || !ok || p.Get("status").Str != "ACTIVE" {
			continue
		}
		row.ID = id
		if name := p.Get("inferenceProfileName").Str; name != "" {
			row.Name = name
		}
		list = append(list, row)
	}
	return list, nil
}

func listed(providerID, id string, m gjson.Result) provider.Model {
	row := provider.Model{Provider: providerID, ID: id, Name: m.Get("modelName").Str, Tools: true, Source: provider.FromRefreshed, AsOf: provider.Today()}
	if inputs := texts(m.Get("inputModalities")); len(inputs) > 0 {
		row.Input = []string{"text"}
		if slices.Contains(inputs, "IMAGE") {
			row.Input = append(row.Input, "image")
		}
	}
	switch m.Get("modelLifecycle.status").Str {
	case "ACTIVE":
		row.Lifecycle = &provider.Lifecycle{State: provider.LifecycleCurrent}
	case "LEGACY":
		row.Lifecycle = &provider.Lifecycle{State: provider.LifecycleDeprecated}
	}
	return row
}

func texts(list gjson.Result) (all []string) {
	for _, v := range list.Array() {
		all = append(all, v.Str)
	}
	return all
}
