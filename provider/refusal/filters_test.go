package refusal_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

func TestFilters(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "", `null`: "", `7`: "", `{"hate":{"filtered":false,"severity":"safe"}}`: "",
		`{"violence":{"filtered":true,"severity":"high"},"jailbreak":{"filtered":true,"detected":true},"hate":{"filtered":false}}`: "jailbreak, violence (high)",
		`[{"prompt_index":0,"content_filter_results":{"self_harm":{"filtered":true,"severity":"medium"}}}]`:                        "self_harm (medium)",
		`[{"blocked":true,"source_type":"completion","content_filter_results":{"sexual":{"filtered":true,"severity":"low"}}}]`:     "sexual (low)",
		`{"protected_material_text":{"filtered":false,"detected":true}}`:                                                           "",
		strings.Repeat(`{"error":`, 50) + `{}` + strings.Repeat(`}`, 50):                                                           "",
	} {
		if got := refusal.Filters(gjson.Parse(body)); got != want {
			t.Errorf("%.80s: %q, want %q", body, got, want)
		}
	}
}

// The refusal of a prompt says which filter it was (shared wording of Azure's chat, and of its v1 API).
func TestFilteredPrompt(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"jailbreak":{"filtered":true,"detected":true}}}}}`,
		`{"error":{"message":"The response was filtered.","code":"content_filter","content_filters":[{"blocked":true,"source_type":"prompt","content_filter_results":{"jailbreak":{"filtered":true,"detected":true}}}]}}`,
	} {
		e := refusal.Read(http.StatusBadRequest, http.Header{}, []byte(body), func(text string) string { return text })
		if e.Kind != provider.KindRefused || !strings.HasSuffix(e.Message, "(content filter: jailbreak)") {
			t.Errorf("%s: %+v", body, e)
		}
	}
}
