package provider

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is what a medium is in the words of [Model.Input]: text, image, pdf, audio, video; empty for anything else.
func (b Media) Kind() string {
	kind, _, _ := strings.Cut(b.Type, "/")
	switch {
	case b.Type == "application/pdf":
		return "pdf"
	case slices.Contains([]string{"text", "image", "audio", "video"}, kind):
		return kind
	}
	return ""
}

// Made is a conversation in which what models made, other than text, is as the API takes it in an answer: what another
// API made stands in it as a sentence, the same each time. It is for adapters.
func Made(list []Message, api string) []Message {
	made, copied := list, false
	for i, m := range list {
		foreign := func(b Block) bool {
			media, ok := b.(Media)
			return ok && media.State.Origin.API != api
		}
		if m.Role != Assistant || !slices.ContainsFunc(m.Blocks, foreign) {
			continue
		}
		if !copied {
			made, copied = slices.Clone(list), true
		}
		made[i].Blocks = slices.Clone(m.Blocks)
		for j, b := range m.Blocks {
			if foreign(b) {
				made[i].Blocks[j] = Text{Text: fmt.Sprintf("[%s that was made here]", b.(Media).Type)}
			}
		}
	}
	return made
}

// Show is a conversation as a model is shown it, by an API that has a form for these kinds or types of media besides text: what
// the API or the model's row does not take stands in it as a sentence, the same each time, and is counted. One picture
// would otherwise shut a session off from every model that is blind. It is for adapters.
func Show(list []Message, row Model, kinds ...string) (shown []Message, unseen int) {
	takes := func(b Media) bool {
		kind := b.Kind()
		return kind == "text" || (slices.Contains(kinds, kind) || slices.Contains(kinds, b.Type)) && (len(row.Input) == 0 || slices.Contains(row.Input, kind))
	}
	var show func(Blocks) Blocks
	show = func(list Blocks) Blocks {
		var changed Blocks
		change := func(i int, b Block) {
			if changed == nil {
				changed = slices.Clone(list)
			}
			changed[i] = b
		}
		for i, b := range list {
			switch b := b.(type) {
			case Media:
				if fit := b.Honest(); fit.Type != b.Type {
					b = fit
					change(i, b)
				}
				if len(b.Data) > 0 && !takes(b) {
					unseen++
					change(i, Text{Text: unseenText(b)})
				}
			case ToolResult:
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

// NoMedia is the repair that shows a model no media, since its host refused them.
func NoMedia(api, model string) Repair { return Repair(api + "/no_media@" + model) }

// Row is the model's row, less what the repairs in force take from it.
func (r *Request) Row(api string) Model {
	row := r.Model
	if slices.Contains(r.Repairs, NoMedia(api, row.ID)) {
		row.Input = []string{"text"}
	}
	return row
}

// Blind reports whether a refusal says that the model sees no media at all.
func (e *Error) Blind() bool {
	if e.Kind != KindBadRequest || e.Subject != SubjectHistory {
		return false
	}
	text := strings.ToLower(e.Message)
	for _, words := range []string{"support image", "image input", "untagged enum", "variant `image", "variant image", "part type: image", "images are not supported", "does not support vision"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

func unseenText(b Media) string {
	switch b.Kind() {
	case "image":
		return "[an image that this model cannot be shown]"
	case "pdf":
		return "[a document that this model cannot be shown]"
	}
	return fmt.Sprintf("[%s that this model cannot be shown]", b.Type)
}

// Unseen tells of media that were left out, if any were.
func Unseen(row Model, unseen int) []Notice {
	if unseen == 0 {
		return nil
	}
	return []Notice{{Kind: NoticeOverride, Text: fmt.Sprintf("images and other media left out, since %s does not take them: %d", row.ID, unseen)}}
}
