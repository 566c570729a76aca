package ports_test

import (
	"net"
	"testing"

	"github.com/thinkd/thinkd/session/jet/ports"
)

// Servers can listen at all addresses, which are out of the range for outgoing connections.
func TestFree(t *testing.T) {
	list, err := ports.Free(200)
	if err != nil || len(list) != 200 {
		t.Fatalf("%d addresses, %v", len(list), err)
	}
	for _, address := range list {
		l, err := net.Listen("tcp", address) // an address that came twice is taken
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if port := l.Addr().(*net.TCPAddr).Port; port >= 32_768 {
			t.Errorf("port %d may be that of an outgoing connection", port)
		}
	}
}
