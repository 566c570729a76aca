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
	root := members(nil, gjson.ParseBytes(body))
	pieces, turns := []provider.Piece{}, false
	var m meter // one for all pieces, so that they share its memory
	for _, front := range []struct {
		part   provider.PromptPart
		member string
	}{{provider.PartTools, p.Tools}, {provider.PartSystem, p.System}} {
		if v, ok := find(root, front.member); ok && front.member != "" {
			pieces = append(pieces, m.pieceOf(front.part, "", v))
		}
	}
	list, _ := find(root, p.List)
	list.ForEach(func(_, v gjson.Result) bool {
		word := v.Get("role").Str
		if turns = turns || word != "system" && word != "developer"; turns {
			pieces = append(pieces, m.pieceOf(provider.PartTurns, speaker(word, v), v))
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
func speaker(role string, v gjson.Result) provider.Role {
	if role == "assistant" || role == "model" || role == "" && slices.Contains(itemsOfModels, v.Get("type").Str) {
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
	piece   provider.Piece
	hashed  []byte   // what the hash of the piece is made of
	members []member // of the objects around the value that is read
}

// member is one of an object.
type member struct{ name, value gjson.Result }

// members appends those of an object to a list.
func members(list []member, object gjson.Result) []member {
	object.ForEach(func(name, value gjson.Result) bool {
		list = append(list, member{name, value})
		return true
	})
	return list
}

// find is the value of the first member with a name.
func find(list []member, name string) (value gjson.Result, ok bool) {
	at := slices.IndexFunc(list, func(m member) bool { return m.name.Str == name })
	if at < 0 {
		return gjson.Result{}, false
	}
	return list[at].value, true
}

// read takes in a value: key is the name of its member, and kind the type that its object names.
func (m *meter) read(key, kind string, v gjson.Result) {
	switch {
	case v.IsObject():
		m.readObject(v, false)
	case v.IsArray():
		m.write("[")
		v.ForEach(func(_, element gjson.Result) bool {
			if element.IsObject() {
				m.readObject(element, true)
			} else {
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

// readObject takes in an object, unless it is a mark in a list. How a member counts depends on others, which may come later. So the members
// are listed first: to look for each of them would walk the object again and again.
func (m *meter) readObject(v gjson.Result, listed bool) {
	from := len(m.members)
	m.members = members(m.members, v)
	own := m.members[from:]
	defer func() { m.members = m.members[:from] }()
	if _, mark := find(own, "cachePoint"); mark && listed {
		return
	}
	named, _ := find(own, "type")
	kind := named.Str
	if _, signed := find(own, "signature"); kind == "thinking" && !signed {
		kind = "text" // a host that signs nothing is sent the thinking itself
	}
	m.write("{")
	for _, each := range own {
		if !slices.Contains(marks, each.name.Str) {
			m.write(each.name.Raw)
			m.piece.Text += len(each.name.Str)
			m.read(each.name.Str, kind, each.value)
		}
	}
	m.write("}")
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
