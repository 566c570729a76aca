package proof

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Nobody is an address where nothing answers, and nobodyHere an environment in which no local server does: those of the
// machine have no part in a test.
const Nobody = "http://127.0.0.1:1"

var NobodyHere = []string{"OLLAMA_HOST=" + Nobody, "LMSTUDIO_BASE_URL=" + Nobody, "LLAMACPP_BASE_URL=" + Nobody,
	"VLLM_BASE_URL=" + Nobody, "SGLANG_BASE_URL=" + Nobody}

// Serve serves h on loopback until the end of the test.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections() // an answer under way ends
		s.Close()
	})
	return s.URL
}

// ClosedAddress is an address at which nobody listens.
func ClosedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}
