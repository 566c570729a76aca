package replay

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// OwnMedia is a conversation in which what models made, other than text, is as the API takes it in an answer: what another
// API made stands in it as a sentence, the same each time. It is for adapters.
func OwnMedia(list []provider.Message, api string) []provider.Message {
	made, copied := list, false
	for i, m := range list {
		foreign := func(b provider.Block) bool {
			media, ok := b.(provider.Media)
			return ok && media.State.Origin.API != api
		}
		if m.Role != provider.Assistant || !slices.ContainsFunc(m.Blocks, foreign) {
			continue
		}
		if !copied {
			made, copied = slices.Clone(list), true
		}
		made[i].Blocks = slices.Clone(m.Blocks)
		for j, b := range m.Blocks {
			if foreign(b) {
				made[i].Blocks[j] = provider.Text{Text: fmt.Sprintf("[%s that was made here]", b.(provider.Media).Type)}
			}
		}
	}
	return made
}

// Visible is a conversation as a model is shown it, by an API that has a form for these kinds or types of media besides text: what
// the API or the model's row does not take stands in it as a sentence, the same each time, and is counted. One picture
// would otherwise shut a session off from every model that is blind. It is for adapters.
func Visible(list []provider.Message, row provider.Model, kinds ...string) (shown []provider.Message, unseen int) {
	takes := func(b provider.Media) bool {
		kind := b.Kind()
		return kind == "text" || (slices.Contains(kinds, kind) || slices.Contains(kinds, b.Type)) && (len(row.Input) == 0 || slices.Contains(row.Input, kind))
	}
	var show func(provider.Blocks) provider.Blocks
	show = func(list provider.Blocks) provider.Blocks {
		var changed provider.Blocks
		change := func(i int, b provider.Block) {
			if changed == nil {
				changed = slices.Clone(list)
			}
			changed[i] = b
		}
		for i, b := range list {
			switch b := b.(type) {
			case provider.Media:
				if fit := honest(b); fit.Type != b.Type {
					b = fit
					change(i, b)
				}
				if len(b.Data) > 0 && !takes(b) {
					unseen++
					change(i, provider.Text{Text: unseenText(b)})
				}
			case provider.ToolResult:
				if inner := show(b.Blocks); inner != nil {
					b.Blocks = inner
					change(i, b)
				}
			}
		}
		return changed
	}
	shown, copied := list, false
	for i, m := range list {
		if blocks := show(m.Blocks); blocks != nil {
			if !copied {
				shown, copied = slices.Clone(list), true
			}
			shown[i].Blocks = blocks
		}
	}
	return shown, unseen
}

func unseenText(b provider.Media) string {
	switch b.Kind() {
	case "image":
		return "[an image that this model cannot be shown]"
	case "pdf":
		return "[a document that this model cannot be shown]"
	}
	return fmt.Sprintf("[%s that this model cannot be shown]", b.Type)
}

// OmittedMedia tells of media that were left out, if any were.
func OmittedMedia(row provider.Model, unseen int) []provider.Notice {
	if unseen == 0 {
		return nil
	}
	return []provider.Notice{{Kind: provider.NoticeOverride, Text: fmt.Sprintf("images and other media left out, since %s does not take them: %d", row.ID, unseen)}}
}
