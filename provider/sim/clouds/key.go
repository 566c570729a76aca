package clouds

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"time"
)

// Key is the private key of a service account and of an application, and its PEM. Making one takes half a second of processor time.
var Key = sync.OnceValues(func() (*rsa.PrivateKey, string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// Certificate is an application's, of [Key], and its PEM with the key behind it.
var Certificate = sync.OnceValues(func() (der []byte, text string) {
	key, private := Key()
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "app"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return der, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + private
})

// assertion is a signed token, with what it says.
type assertion struct {
	head, claims map[string]any
	text         string // that is signed
	signature    []byte
}

func readAssertion(token string) (a assertion, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return a, false
	}
	for i, to := range []any{&a.head, &a.claims} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(data, to) != nil {
			return a, false
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	a.text, a.signature = parts[0]+"."+parts[1], signature
	return a, err == nil
}
