package remote

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"https://Thinkd.example.com":           "https://thinkd.example.com/",
		"https://thinkd.example.com:8443/#t=x": "https://thinkd.example.com:8443/",
		"http://127.0.0.1:7700/":               "http://127.0.0.1:7700/",
		"http://[::1]:7700":                    "http://[::1]:7700/",
		"http://localhost:7700":                "http://localhost:7700/",
		"http://thinkd.example.com":            "",
		"http://127.0.0.1.example.com":         "",
		"https://ann:secret@example.com":       "",
		"thinkd.example.com":                   "",
		"ws://127.0.0.1:7700":                  "",
		"":                                     "",
	} {
		if got, err := ParseAddress(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// What a daemon says of its provider is checked, and a redirect is not followed.
func TestProvider(t *testing.T) {
	for answer, want := range map[string]string{
		`{"issuer":"https://login.example.com","client_id":"thinkd"}`: "",
		`{"issuer":"http://localhost:1","client_id":"thinkd"}`:        "",
		`{"issuer":"http://login.example.com","client_id":"thinkd"}`:  "without TLS",
		`{"issuer":"https://login.example.com"}`:                      "or none",
		`<html>`:                                                      "does not answer as a daemon",
		"404":                                                         "no OpenID provider",
		"401":                                                         "no OpenID provider",
		"302":                                                         "302",
		"500":                                                         "500",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch answer {
			case "404":
				http.NotFound(w, r)
			case "401":
				w.WriteHeader(http.StatusUnauthorized)
			case "302":
				http.Redirect(w, r, "https://elsewhere.invalid/", http.StatusFound)
			case "500":
				w.WriteHeader(http.StatusInternalServerError)
			default:
				if _, err := w.Write([]byte(answer)); err != nil {
					t.Error(err)
				}
			}
		}))
		_, err := Address(server.URL+"/").provider(t.Context(), newClient())
		server.Close()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
