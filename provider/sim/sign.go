package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
)

// Seal describes a block of thinking. The signature contains it, so that any server with the same secret can check a block
// without knowledge of the conversation.
//
// Two things bind a block to its place. Context is the digest of everything before it that is not thinking. Before and
// Depth describe the thinking that the model saw when it wrote the block: the id of the last block, and the number of
// blocks. They are separate from Context because the vendor accepts conversations in which all thinking is missing, or a
// leading run, or a trailing run. A gap in the middle changes Before. A block that is put back changes Depth.
// [docs: preserved-thinking]
type Seal struct {
	Kind    string `json:"k"`           // the API's word for the block
	Model   string `json:"m"`           // the model that wrote it
	Account string `json:"a"`           // the account that requested it
	User    string `json:"u,omitempty"` // the end user, if the request named one
	Message string `json:"g"`           // the id of its message
	Ordinal int    `json:"o"`           // its number among the message's blocks of thinking
	Run     int    `json:"r"`           // its number among adjacent blocks of thinking
	Shown   bool   `json:"s,omitempty"` // the client got the text, and has to send it back unchanged
	Text    string `json:"t"`           // digest of the text
	Tokens  int    `json:"n"`           // input tokens that the thinking costs later
	Context string `json:"p,omitempty"` // empty: blocks of this model are not bound to a place
	Before  string `json:"b,omitempty"`
	Depth   int    `json:"d,omitempty"`
}

// Sealer signs with a server's secret. Its methods may be called from any goroutine.
type Sealer struct{ secret []byte }

// Sign returns a signature that contains v, and an id by which the seals of later blocks name this one.
func (s Sealer) Sign(v Seal) (signature, id string) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	mac := s.mac(body)
	return base64.StdEncoding.EncodeToString(append(mac, body...)), sealID(mac)
}

// Open is the inverse of Sign. ok is false if the signature was not made with this secret.
func (s Sealer) Open(signature string) (v Seal, id string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) < sha256.Size {
		return Seal{}, "", false
	}
	mac, body := raw[:sha256.Size], raw[sha256.Size:]
	if !hmac.Equal(mac, s.mac(body)) || json.Unmarshal(body, &v) != nil {
		return Seal{}, "", false
	}
	return v, sealID(mac), true
}

func (s Sealer) mac(body []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(body)
	return h.Sum(nil)
}

func sealID(mac []byte) string { return hex.EncodeToString(mac[:8]) }
