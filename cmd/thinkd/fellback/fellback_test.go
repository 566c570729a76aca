package fellback

import (
	"encoding/json"
	"testing"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ params, text, costs string }{
		{`{"from":{"provider":"anthropic","id":"opus","thinking_level":"high"},"to":{"provider":"openai","id":"sol","thinking_level":"high"},
			"why":"overloaded","error":{"code":1004,"message":"anthropic: status 529: overloaded"},"thinking":{"kept":0,"converted":0,"dropped":2},"cache":"lost","price_factor":1}`,
			"anthropic failed: status 529: overloaded. This turn runs on openai/sol, thinking high.",
			"Earlier thinking: dropped · Cache: cold · Price: 1.0 times"},
		{`{"from":{"provider":"openai","id":"sol"},"to":{"provider":"openai","id":"sol","thinking_level":"low"},"key":"team","continues":true,
			"why":"overloaded","error":{"code":1004,"message":"openai: no credit."},"thinking":{"kept":1,"converted":2,"dropped":3},"cache":"unknown"}`,
			"openai failed: no credit. This turn runs on openai/sol, thinking low, key team. It continues the answer above.",
			"Earlier thinking: 1 kept, 2 as text, 3 dropped · Cache: unknown · Price: unknown"},
		{`{"from":{"provider":"openai","id":"sol"},"to":{"provider":"anthropic","id":"opus","thinking_level":"high"},"why":"returned","thinking":{"kept":4},"price_factor":2.5}`,
			"The session returns to anthropic/opus, thinking high.", "Earlier thinking: kept · Price: 2.5 times"},
	} {
		var s Switch
		if err := json.Unmarshal([]byte(c.params), &s); err != nil {
			t.Fatal(err)
		}
		if s.Text() != c.text || s.Costs() != c.costs {
			t.Errorf("%s\n%s\nwant:\n%s\n%s", s.Text(), s.Costs(), c.text, c.costs)
		}
	}
}
