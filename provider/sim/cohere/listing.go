package cohere

import (
	"strconv"

	"github.com/thinkd/thinkd/provider/sim"
)

// serveModels answers the list of models, in pages. [docs: reference/list-models]
func serveModels(ex *sim.Exchange) {
	query := ex.Request.URL.Query()
	size, err := strconv.Atoi(query.Get("page_size"))
	if err != nil || size < 1 {
		size = 20
	}
	from, err := strconv.Atoi(query.Get("page_token"))
	if err != nil || from < 0 {
		from = 0
	}
	list := []any{}
	for _, m := range models[min(from, len(models)):min(from+size, len(models))] {
		list = append(list, map[string]any{"name": m.id, "is_deprecated": m.old, "endpoints": []any{"chat"}, "finetuned": false, "context_length": m.window, "features": m.can()})
	}
	answer := map[string]any{"models": list}
	if from+size < len(models) {
		answer["next_page_token"] = strconv.Itoa(from + size)
	}
	ex.SendJSON(200, answer)
}
