package network

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
)

var errSeal = errors.New("it was changed, or is of another key")

// seal encrypts a text. Only the same key and purpose open it.
func seal(key [sha256.Size]byte, purpose string, text []byte) []byte {
	gcm := newGCM(key)
	nonce := make([]byte, gcm.NonceSize())
	rand.Read(nonce) // never fails
	return gcm.Seal(nonce, nonce, text, []byte(purpose))
}

func open(key [sha256.Size]byte, purpose string, sealed []byte) ([]byte, error) {
	gcm := newGCM(key)
	if len(sealed) < gcm.NonceSize() {
		return nil, errSeal
	}
	text, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], []byte(purpose))
	if err != nil {
		return nil, errSeal
	}
	return text, nil
}

func newGCM(key [sha256.Size]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has one of the sizes of AES
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the size of block that GCM needs
	}
	return gcm
}
