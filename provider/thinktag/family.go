package thinktag

import "strings"

// families are the tags of models by a part of their id, the narrower names first. A model of a family writes no others
// (the models' chat templates).
var families = []struct {
	names []string
	pair  Pair
}{
	{[]string{"seed-oss", "seed_oss"}, Pair{"<seed:think>", "</seed:think>"}},
	{[]string{"magistral", "ministral"}, Pair{"[THINK]", "[/THINK]"}},
	{[]string{"kimi-vl", "kimi-dev", "kimi-k1"}, Pair{"◁think▷", "◁/think▷"}},
	{[]string{"exaone-deep"}, Pair{"<thought>", "</thought>"}},
	{[]string{"qwen", "qwq", "deepseek", "glm", "minimax", "kimi", "nemotron", "olmo", "smollm", "hunyuan", "ernie", "exaone"}, Pair{"<think>", "</think>"}},
}

// For is what to expect of a model. Where its family is known, that is the family's tags and no others, so that other
// tags in an answer are what the answer is about.
func (t Tags) For(model string) Tags {
	model = strings.ToLower(model)
	for _, family := range families {
		for _, name := range family.names {
			if strings.Contains(model, name) {
				if len(t.Others) > 0 || t.Pair == family.pair {
					t.Pair, t.Others = family.pair, nil
				}
				return t
			}
		}
	}
	return t
}
