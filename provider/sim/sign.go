package sim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
)

// Seal is what a signature says about a block of thinking. It travels inside the signature, so that any server with
// the same secret can judge a block without having seen the conversation.
//
// Two things bind a block to its place. Context is the digest of everything before it that is not thinking. Before and
// Depth are the thinking that its writer saw: the id of the last block and how many there were. Kept apart, they allow
// what the vendor allows: all thinking may be left out, or a leading run, or a trailing run, without a change of
// Context; a hole in the middle shows in Before, a block put back in Depth. [docs: preserved-thinking]
type Seal struct {
	Kind    string `json:"k"`           // the API's word for the block
	Model   string `json:"m"`           // who wrote it
	Account string `json:"a"`           // for whom
	User    string `json:"u,omitempty"` // and for which end user
	Message string `json:"g"`           // in which message
	Ordinal int    `json:"o"`           // as which of its thinking blocks
	Run     int    `json:"r"`           // and which of those without anything between them
	Shown   bool   `json:"s,omitempty"` // the text went out: it has to come back as it was
	Text    string `json:"t"`           // digest of the text
	Tokens  int    `json:"n"`           // what the thinking costs as input
	Context string `json:"p,omitempty"` // empty: the model's blocks are not bound to a place
	Before  string `json:"b,omitempty"`
	Depth   int    `json:"d,omitempty"`
}

// Sealer signs with a server's secret.
type Sealer struct{ secret []byte }

// Sign signs v. The id names the block in the seals of later ones.
func (s Sealer) Sign(v Seal) (signature, id string) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a struct of strings and numbers
	}
	mac := s.mac(body)
	return base64.StdEncoding.EncodeToString(append(mac, body...)), sealID(mac)
}

// Open is the inverse of Sign; ok is false for whatever this secret did not sign.
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
