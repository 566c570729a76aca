package responses

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// planList is the path of the list of the ChatGPT plan's backend.
const planList = "/backend-api/codex/models"

// servePlanModels answers at planList. Clients must state their version.
func servePlanModels(ex *sim.Exchange, d *sim.Dialect) {
	if _, err := checkKey(ex, doors["/backend-api/codex/responses"]); err != nil {
		ex.Refuse(d, err)
		return
	}
	if ex.Request.URL.Query().Get("client_version") == "" {
		ex.Refuse(d, unfit("client_version", "missing_required_parameter", "Missing required parameter: 'client_version'."))
		return
	}
	list := []any{}
	for i := range models {
		m := &models[i]
		if m.open || m.note != "" {
			continue
		}
		levels := []any{}
		for _, effort := range m.efforts {
			levels = append(levels, map[string]any{"effort": effort, "description": ""})
		}
		if slices.Contains(m.efforts, "max") {
			levels = append(levels, map[string]any{"effort": "ultra", "description": ""}) // a mode of the vendor's own client, on top of max
		}
		list = append(list, map[string]any{"slug": m.id, "display_name": m.id, "default_reasoning_level": m.effort, "supported_reasoning_levels": levels,
			"supports_reasoning_summaries": true, "visibility": "list", "supported_in_api": true, "context_window": 372_000, "input_modalities": []string{"text", "image"}})
	}
	ex.SendJSON(http.StatusOK, map[string]any{"models": list})
}

// serveModels answers with names and dates, like OpenAI. With the header X-Sim-Dialect it answers like xAI. [docs: models/list,
// deprecations; xAI docs: models]
func serveModels(ex *sim.Exchange, d *sim.Dialect) {
	if _, err := checkKey(ex, doors["/v1/responses"]); err != nil {
		ex.Refuse(d, err)
		return
	}
	xai := ex.Request.Header.Get("X-Sim-Dialect") == "xai"
	list := []any{}
	for i := range models {
		m := &models[i]
		if m.note != "" || strings.HasPrefix(m.id, "grok-") != xai {
			continue
		}
		row := map[string]any{"id": m.id, "object": "model", "created": 0, "owned_by": "openai"}
		if !xai {
			row["shutdown_date"] = nil
			if m.id == "gpt-5" {
				row["shutdown_date"] = "2026-12-11"
			}
		}
		list = append(list, row)
	}
	if !xai {
		for _, other := range []string{"text-embedding-3-large", "gpt-image-2", "whisper-1", "gpt-realtime-2"} {
			list = append(list, map[string]any{"id": other, "object": "model", "created": 0, "owned_by": "openai"})
		}
	}
	ex.SendJSON(http.StatusOK, map[string]any{"object": "list", "data": list})
}

// help has the simulator's own names.
func help() string {
	var b strings.Builder
	b.WriteString("Models of Responses, besides the vendor's own ids:\n\n")
	for i := range models {
		if m := &models[i]; m.imitates != "" {
			fmt.Fprintf(&b, "  %-21s as %s: %s\n", m.id, m.imitates, m.note)
		}
	}
	return b.String()
}
