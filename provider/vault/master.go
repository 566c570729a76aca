package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const keyBytes = 32

// Masters are the master keys: the first encrypts, and each of them decrypts what it has encrypted. The zero Masters has none.
type Masters struct {
	from string // where they are from, for errors
	keys [][keyBytes]byte
}

// None reports whether there is no key.
func (m Masters) None() bool { return len(m.keys) == 0 }

// String says where the keys are from. It has nothing of them.
func (m Masters) String() string { return m.from }

// GoString is String: the keys are printed by no verb.
func (m Masters) GoString() string { return m.from }

// FromFile reads master keys from a file. A file that everybody can read is an error.
func FromFile(path string) (Masters, error) {
	text, err := fromFile(path)
	if err != nil {
		return Masters{}, err
	}
	return read(path, text)
}

// FromCommand reads master keys from the output of a program. Its errors have what the program wrote to standard error.
func FromCommand(ctx context.Context, command []string) (Masters, error) {
	text, err := fromCommand(ctx, command)
	if err != nil {
		return Masters{}, err
	}
	return read(outputOf(command), text)
}

// read takes a key from each line. Empty lines, and those that begin with #, are none.
func read(from string, text []byte) (Masters, error) {
	m := Masters{from: from}
	if len(text) > maxText {
		return Masters{}, fmt.Errorf("%s is longer than %d bytes", from, maxText)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(line)
		if len(line) == 2*keyBytes {
			raw, err = hex.DecodeString(line)
		}
		if err != nil || len(raw) != keyBytes { // the line may be a key, and is not quoted
			return Masters{}, fmt.Errorf("%s, line %d: must be %d random bytes in base64, as `openssl rand -base64 %d` prints them", from, number, keyBytes, keyBytes)
		}
		m.keys = append(m.keys, [keyBytes]byte(raw))
	}
	if m.None() {
		return Masters{}, fmt.Errorf("%s has no key: put there what `openssl rand -base64 %d` prints", from, keyBytes)
	}
	return m, nil
}

// mark names a key without saying anything about it.
func mark(key [keyBytes]byte) string {
	sum := sha256.Sum256(append([]byte("thinkd master key\x00"), key[:]...))
	return hex.EncodeToString(sum[:8])
}

// encrypt encrypts a text that can be read with the same key and context only.
func encrypt(key [keyBytes]byte, context string, text []byte) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize(), gcm.NonceSize()+len(text)+gcm.Overhead())
	rand.Read(nonce) // never fails
	return gcm.Seal(nonce, nonce, text, []byte(context)), nil
}

var errChanged = errors.New("it was changed, or is of another key")

func decrypt(key [keyBytes]byte, context string, sealed []byte) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < gcm.NonceSize() {
		return nil, errChanged
	}
	text, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], []byte(context))
	if err != nil {
		return nil, errChanged
	}
	return text, nil
}

func newGCM(key [keyBytes]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
