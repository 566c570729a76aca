package converse

import "github.com/thinkd/thinkd/provider/sim"

// serveModels answers ListFoundationModels, and ListInferenceProfiles with a profile in the US for each model.
func serveModels(ex *sim.Exchange, profiles bool) {
	list := []any{}
	for _, m := range models {
		arn := "arn:aws:bedrock:us-east-1::foundation-model/" + m.id
		if profiles {
			list = append(list, map[string]any{"inferenceProfileId": "us." + m.id, "inferenceProfileName": "US " + m.name, "status": "ACTIVE", "type": "SYSTEM_DEFINED", "models": []any{map[string]any{"modelArn": arn}}})
			continue
		}
		kinds := []any{"ON_DEMAND"}
		if m.profiled {
			kinds = []any{"INFERENCE_PROFILE"}
		}
		list = append(list, map[string]any{"modelArn": arn, "modelId": m.id, "modelName": m.name, "providerName": m.maker, "inputModalities": []any{"TEXT"}, "outputModalities": []any{"TEXT"},
			"responseStreamingSupported": true, "inferenceTypesSupported": kinds, "modelLifecycle": map[string]any{"status": "ACTIVE"}})
	}
	if profiles {
		ex.SendJSON(200, map[string]any{"inferenceProfileSummaries": list})
		return
	}
	ex.SendJSON(200, map[string]any{"modelSummaries": list})
}
