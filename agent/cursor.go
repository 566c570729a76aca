package agent

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// seals hides what the cursors of a store are made of: numbers that count the changes of all sessions. From two of them, a user could tell
// how much the others do. The operator gets them as they are. A sealed cursor counts for its owner, until the process ends.
type seals struct {
	once sync.Once
	aead cipher.AEAD
}

func (s *seals) cipher() cipher.AEAD {
	s.once.Do(func() {
		key := make([]byte, 32)
		rand.Read(key)                   // never fails
		block, err := aes.NewCipher(key) // fails for other lengths only
		if err == nil {
			s.aead, err = cipher.NewGCMWithRandomNonce(block)
		}
		if err != nil {
			panic(err)
		}
	})
	return s.aead
}

// seal makes a cursor one for a client of an owner. An empty cursor stays empty.
func (s *seals) seal(owner session.Owner, cursor string) string {
	if cursor == "" || owner == session.Operator {
		return cursor
	}
	return base64.RawURLEncoding.EncodeToString(s.cipher().Seal(nil, nil, []byte(cursor), []byte(owner.String())))
}

// open undoes seal. Error: session.ErrCursor.
func (s *seals) open(owner session.Owner, cursor string) (string, error) {
	if cursor == "" || owner == session.Operator {
		return cursor, nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", session.ErrCursor
	}
	text, err := s.cipher().Open(nil, nil, sealed, []byte(owner.String()))
	if err != nil {
		return "", session.ErrCursor
	}
	return string(text), nil
}
