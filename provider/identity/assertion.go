package identity

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"
)

// assertionTime is how long an assertion is valid. It is used at once.
const assertionTime = 10 * time.Minute

// assertion is a token that the application's certificate signs, which names the certificate by its digest (Microsoft docs:
// certificate-credentials). The certificate is read each time, since it is renewed.
func assertion(certificate, client, audience string, now time.Time) (string, error) {
	data, err := readFile(certificate)
	if err != nil {
		return "", err
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return "", err
	}
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return "", errors.New("its key is no RSA key")
	}
	digest := sha256.Sum256(pair.Certificate[0])
	id := make([]byte, 16)
	rand.Read(id)
	encoded := func(v any) string {
		text, _ := json.Marshal(v) // of texts and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := encoded(map[string]any{"alg": "PS256", "typ": "JWT", "x5t#S256": base64.RawURLEncoding.EncodeToString(digest[:])}) + "." +
		encoded(map[string]any{"aud": audience, "iss": client, "sub": client, "jti": base64.RawURLEncoding.EncodeToString(id),
			"nbf": now.Unix(), "exp": now.Add(assertionTime).Unix()})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), err
}
