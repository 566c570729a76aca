package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/session"
)

// clientID is what a client calls a request, so that it can send it again and have it done once. Any text will do.
type clientID string

const maxClientID = 256 // bytes: it is kept with what the request made

func (c *clientID) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if len(text) > maxClientID {
		return fmt.Errorf("is longer than %d bytes", maxClientID)
	}
	*c = clientID(text)
	return nil
}

// JSONSchema is what rpc.discover tells of it.
func (clientID) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: fmt.Sprintf("any text of at most %d bytes", maxClientID)}
}

// stampOf is the stamp of a request, nil if its client gave it no id. The digest is that of the params as they were
// understood, without the id: so the order of members does not count, nor does one that is null or not known.
func stampOf(id *clientID, params any) (*session.Stamp, error) {
	if id == nil {
		return nil, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	return &session.Stamp{ID: string(*id), Digest: digest[:]}, nil
}

// stamp is that of session/new.
func (p newParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	return stampOf(id, p)
}

// stamp is that of session/prompt.
func (p promptParams) stamp() (*session.Stamp, error) {
	id := p.Client
	p.Client = nil
	return stampOf(id, p)
}

// answerMade answers a stamped session/new, the first as all that follow, and subscribes the client unless it is: a
// second subscription would take the place of the first, and drop what waits in that.
func (c *client) answerMade(ctx context.Context, made session.Creation) (r newResult, err error) {
	if err := json.Unmarshal(made.Answer, &r); err != nil {
		return newResult{}, err
	}
	if c.Follows(made.Session) {
		return r, nil
	}
	snap, follow, err := c.attachThen(ctx, made.Session, seqNumber{}, 0)
	if errors.Is(err, session.ErrNotFound) { // it was deleted since
		return r, nil
	}
	if err != nil {
		return newResult{}, err
	}
	r.Seq, r.follow = snap.Seq, follow
	return r, nil
}
