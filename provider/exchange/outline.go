package exchange

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

// Prompt says where a body has the prompt: its members with the tools, with the system prompt and with the list of messages. System is
// empty for an API whose list begins with the system prompt.
type Prompt struct {
	Tools, System, List string
	Cache               provider.CacheTerms
	Forgets             bool // as in [provider.Outline]
}

// outline cuts the prompt into pieces. An element in front of the list with the role of the system, or of the developer, is a part of
// the system prompt.
func (p Prompt) outline(body []byte) provider.Outline {
	root := gjson.ParseBytes(body)
	pieces, turns := []provider.Piece{}, false
	var m meter // one for all pieces, so that they share its memory
	for _, front := range []struct {
		part   provider.PromptPart
		member string
	}{{provider.PartTools, p.Tools}, {provider.PartSystem, p.System}} {
		if v := root.Get(front.member); front.member != "" && v.Exists() {
			pieces = append(pieces, m.pieceOf(front.part, "", v))
		}
	}
	root.Get(p.List).ForEach(func(_, v gjson.Result) bool {
		word := v.Get("role").Str
		if turns = turns || word != "system" && word != "developer"; turns {
			pieces = append(pieces, m.pieceOf(provider.PartTurns, speaker(word, v.Get("type").Str), v))
		} else {
			pieces = append(pieces, m.pieceOf(provider.PartSystem, "", v))
		}
		return true
	})
	return provider.Outline{Pieces: pieces, Cache: p.Cache, Forgets: p.Forgets}
}

// itemsOfModels are the types of items that have no role and come from the model.
var itemsOfModels = []string{"reasoning", "function_call", "custom_tool_call", "web_search_call", "compaction"}

// speaker is the role of an element, by its word for the role or, if it has none, by its type.
func speaker(role, kind string) provider.Role {
	if role == "assistant" || role == "model" || role == "" && slices.Contains(itemsOfModels, kind) {
		return provider.Assistant
	}
	return provider.User
}

// marks are members that say what to cache. They move from message to message, and are no part of the prompt.
var marks = []string{"cache_control", "prompt_cache_breakpoint", "cachePoint"}

// seals are members with data that only the vendor can read.
var seals = []string{"signature", "encrypted_content", "thoughtSignature", "thought_signature", "reasoning_opaque", "redactedContent"}

func (m *meter) pieceOf(part provider.PromptPart, role provider.Role, v gjson.Result) provider.Piece {
	m.hashed, m.piece = m.hashed[:0], provider.Piece{Part: part, Role: role}
	m.read("", "", v)
	sum := sha256.Sum256(m.hashed)
	m.piece.Hash = binary.BigEndian.Uint64(sum[:])
	return m.piece
}

// meter reads a JSON value, and counts what it has.
type meter struct {
	piece  provider.Piece
	hashed []byte // what the hash of the piece is made of
}

// read takes in a value: key is the name of its member, and kind the type that its object names.
func (m *meter) read(key, kind string, v gjson.Result) {
	switch {
	case v.IsObject():
		kind := v.Get("type").Str
		if kind == "thinking" && !v.Get("signature").Exists() {
			kind = "text" // a host that signs nothing is sent the thinking itself
		}
		m.write("{")
		v.ForEach(func(name, member gjson.Result) bool {
			if !slices.Contains(marks, name.Str) {
				m.write(name.Raw)
				m.piece.Text += len(name.Str)
				m.read(name.Str, kind, member)
			}
			return true
		})
		m.write("}")
	case v.IsArray():
		m.write("[")
		v.ForEach(func(_, element gjson.Result) bool {
			if !element.Get("cachePoint").Exists() { // which is a mark in a list
				m.read(key, kind, element)
			}
			return true
		})
		m.write("]")
	case v.Type == gjson.String && isMedia(key, kind, v.Raw):
		m.piece.Media++ // media never change, and may not have been loaded: only that they are here is hashed
		m.write("media")
	case v.Type == gjson.String:
		m.write(v.Raw)
		m.count(key, kind, v.Raw)
	default:
		m.write(v.Raw)
		m.piece.Text += len(v.Raw)
	}
}

func (m *meter) write(text string) { m.hashed = append(m.hashed, text...) }

// isMedia reports whether a string has the data of an image or a document.
func isMedia(key, kind, raw string) bool {
	return key == "data" && (kind == "base64" || kind == "") || key == "images" || key == "bytes" || strings.HasPrefix(raw, `"data:`)
}

// count counts a string by who can read it.
func (m *meter) count(key, kind, raw string) {
	if slices.Contains(seals, key) || key == "thinking" && kind == "thinking" || kind == "summary_text" ||
		key == "data" && (kind == "redacted_thinking" || strings.HasPrefix(kind, "reasoning.")) {
		m.piece.Sealed += len(raw)
		return
	}
	m.piece.Text += characters(raw)
}

// characters counts those of a string as JSON has it. An escape is one character.
func characters(raw string) (n int) {
	raw = strings.TrimPrefix(strings.TrimSuffix(raw, `"`), `"`)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw) && raw[i+1] == 'u':
			i += 5
		case c == '\\':
			i++
		case c >= 0x80 && c < 0xc0:
			continue // the rest of a character
		}
		n++
	}
	return n
}
