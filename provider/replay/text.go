package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// What follows makes a history fit for every vendor. Each function is pure: an adapter applies it to what is stored, from
// the first request on, so the bytes of a prefix never change between two calls.

// Stand-ins for what vendors refuse to see empty.
const (
	NoOutput = "(no output)"       // of a tool
	NoText   = "(an empty prompt)" // of a user who sent nothing but spaces
)

// WithoutBlanks leaves out texts that have nothing to read.
func WithoutBlanks(blocks provider.Blocks) provider.Blocks {
	blank := func(b provider.Block) bool {
		text, ok := b.(provider.Text)
		return ok && provider.Blank(text.Text)
	}
	if !slices.ContainsFunc(blocks, blank) {
		return blocks
	}
	return slices.DeleteFunc(slices.Clone(blocks), blank)
}

// Prompt is what a user's message says. A message without a result that has nothing to read gets [NoText]: left out, it
// would have two answers stand side by side, or the conversation begin or end with the model.
func Prompt(blocks provider.Blocks) provider.Blocks {
	said := WithoutBlanks(blocks)
	if len(said) == 0 {
		return provider.Blocks{provider.Text{Text: NoText}}
	}
	return said
}

var notInAName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_-]+`) })

const unnamedTool = "unnamed_tool"

// ToolName is a tool's name in a form that every vendor takes. The names of tools that are offered have it already; models
// invent others, and a vendor that sees one in a history refuses the whole request. Control tokens (`<|channel|>`) and
// what follows them are cut off, and so is the name space that some models write in front.
func ToolName(name string) string {
	if provider.ValidToolName(name) {
		return name
	}
	fit, _, _ := strings.Cut(name, "<|")
	fit = strings.TrimPrefix(strings.TrimSpace(fit), "functions.")
	fit = strings.Trim(notInAName().ReplaceAllString(fit, "_"), "_")
	switch {
	case fit == "":
		return unnamedTool
	case fit[0] == '-' || fit[0] >= '0' && fit[0] <= '9':
		fit = "_" + fit
	}
	if len(fit) > provider.MaxToolName {
		sum := sha256.Sum256([]byte(name))
		mark := "_" + hex.EncodeToString(sum[:4])
		fit = fit[:provider.MaxToolName-len(mark)] + mark
	}
	return fit
}

// Result is the text of a result for an API that has no member for failure: the text says it. Of nothing a
// failure says so, and what merely returned nothing, or spaces, says nothing.
func Result(r provider.ToolResult) provider.Blocks {
	if !r.Failed {
		return WithoutBlanks(r.Blocks)
	}
	said := slices.Clone(WithoutBlanks(r.Blocks))
	first := slices.IndexFunc(said, func(b provider.Block) bool { return provider.KindOf(b) == provider.KindText })
	if first < 0 {
		return slices.Insert(said, 0, provider.Block(provider.Text{Text: failure + NoOutput}))
	}
	said[first] = provider.Text{Text: failure + said[first].(provider.Text).Text}
	return said
}

// failure stands in front of what a tool said that failed.
const failure = "error: "

// Pictured reports whether a conversation has an image, also in the result of a tool. Copilot needs a header for that.
func Pictured(list []provider.Message) bool {
	return slices.ContainsFunc(list, func(m provider.Message) bool { return pictured(m.Blocks) })
}

func pictured(blocks provider.Blocks) bool {
	return slices.ContainsFunc(blocks, func(b provider.Block) bool {
		switch b := b.(type) {
		case provider.Media:
			return strings.HasPrefix(b.Type, "image/")
		case provider.ToolResult:
			return pictured(b.Blocks)
		}
		return false
	})
}
