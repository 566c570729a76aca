package mcphttp

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/provider/testgo"
)

func public(resolver *net.Resolver, allow ...string) *http.Client {
	p := Public{Server: "docs", Allow: prefixes(allow...), Setting: "auth.mcp_private_addresses", resolver: resolver}
	return &http.Client{Transport: p.Transport()}
}

// get requests an address. It returns the error of a connection that was refused.
func get(t *testing.T, c *http.Client, address string) *PrivateError {
	t.Helper()
	resp, err := c.Get(address)
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		c.CloseIdleConnections() // the next request connects again
		return nil
	}
	refused, ok := errors.AsType[*PrivateError](err)
	if !ok {
		t.Fatalf("%s: %v", address, err)
	}
	return refused
}

// listen serves on 127.0.0.1 and counts requests.
func listen(t *testing.T, answer http.HandlerFunc) (port string, requests *atomic.Int64) {
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port(), requests
}

func ok(http.ResponseWriter, *http.Request) {}

// names is a DNS server: each question for an IPv4 address gets the next of its answers, and the last one for ever.
type names struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		testgo.Go(t, func() { n.serve(theirs) }) // ends when the resolver closes its end
		return ours, nil
	}}
}

// serve answers questions as over TCP (RFC 1035, section 4.2.2): each message follows its length.
func (n *names) serve(c net.Conn) {
	defer c.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer := n.answer(question)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (n *names) answer(question []byte) []byte {
	end := 12 // of the header; then the name, its labels after their lengths
	for question[end] != 0 {
		end += 1 + int(question[end])
	}
	end += 5 // with type and class
	var list []string
	if kind := binary.BigEndian.Uint16(question[end-4:]); kind == 1 { // A
		n.mu.Lock()
		list = n.answers[min(n.asked, len(n.answers)-1)]
		n.asked++
		n.mu.Unlock()
	}
	head := append([]byte{}, question[:end]...)
	binary.BigEndian.PutUint16(head[2:], 0x8180) // an answer without an error
	binary.BigEndian.PutUint16(head[6:], uint16(len(list)))
	binary.BigEndian.PutUint32(head[8:], 0)
	for _, text := range list {
		addr := netip.MustParseAddr(text).As4()
		head = append(head, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4) // the name of the question, A, IN, no time to live, 4 bytes
		head = append(head, addr[:]...)
	}
	return head
}

// Each class of address that is not public is refused, in each form in which it can be written.
func TestRefusedAddresses(t *testing.T) {
	for class, list := range map[string][]string{
		"loopback":             {"127.0.0.1", "127.8.9.10", "::1"},
		"private":              {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1"},
		"carrier":              {"100.64.0.1", "100.100.100.200", "100.127.255.255"},
		"link-local":           {"169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%1"},
		"unique local":         {"fc00::1", "fd00:ec2::254"},
		"site-local":           {"fec0::1"},
		"unspecified":          {"0.0.0.0", "0.1.2.3", "::"},
		"multicast":            {"224.0.0.1", "239.255.255.255", "ff02::1"},
		"reserved":             {"240.0.0.1", "255.255.255.255", "192.0.0.192", "198.18.0.1", "100::1", "5f00::1", "4000::1"},
		"metadata":             {"168.63.129.16"},
		"documentation":        {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
		"IPv4-mapped":          {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"},
		"IPv4-compatible":      {"::127.0.0.1", "::169.254.169.254", "::8.8.8.8"},
		"IPv4-translated":      {"::ffff:0:10.0.0.1"},
		"NAT64":                {"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b::8.8.8.8%1"},
		"NAT64 of a network":   {"64:ff9b:1::10.0.0.1", "64:ff9b:1::8.8.8.8"},
		"6to4":                 {"2002:7f00:1::1", "2002:a00:1::1", "2002:a9fe:a9fe::1"},
		"Teredo and protocols": {"2001::1", "2001:2::1", "2001:20::1"},
	} {
		for _, text := range list {
			addr := netip.MustParseAddr(text)
			if IsPublic(addr) {
				t.Errorf("%s: %s is public", class, text)
			}
			refused := get(t, public(nil), "http://"+strings.ReplaceAll(netip.AddrPortFrom(addr, 1).String(), "%", "%25")+"/")
			if refused == nil || refused.Addr != addr.Unmap() {
				t.Errorf("%s: a request to %s: %v", class, text, refused)
			}
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00::1", "2001:4860:4860::8888", "2001:200::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"} {
		if !IsPublic(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
}

// The error says which server it is about, what was refused, and what the operator can do.
func TestPrivateError(t *testing.T) {
	n := &names{answers: [][]string{{"10.1.2.3"}}}
	refused := get(t, public(n.resolver(t)), "http://docs.example.com./mcp")
	const want = "cannot connect to docs.example.com. for the MCP server docs: 10.1.2.3 is not a public address; to let users reach it, add it to auth.mcp_private_addresses in the config"
	if refused == nil || refused.Error() != want {
		t.Errorf("%v, want %s", refused, want)
	}
}

// Addresses and networks that the operator allows are reached, and no others.
func TestAllowedAddresses(t *testing.T) {
	port, requests := listen(t, ok)
	for _, allow := range []string{"127.0.0.1/32", "127.0.0.0/8"} {
		requests.Store(0)
		if refused := get(t, public(nil, allow), "http://127.0.0.1:"+port); refused != nil || requests.Load() != 1 {
			t.Errorf("%s: %v, %d requests", allow, refused, requests.Load())
		}
		for _, other := range []string{"169.254.169.254", "[::1]", "10.0.0.1"} {
			if get(t, public(nil, allow), "http://"+other+":"+port) == nil {
				t.Errorf("%s allows %s", allow, other)
			}
		}
	}
	if refused := get(t, public(nil, "127.0.0.1/32"), "http://[::ffff:127.0.0.1]:"+port); refused != nil {
		t.Errorf("the IPv4-mapped form: %v", refused)
	}
}

// A name that gets another address after a first connection (DNS rebinding) is checked again. Each connection has one look-up, so there
// is no answer that is checked and another one that is used.
func TestRebinding(t *testing.T) {
	port, requests := listen(t, ok)
	n := &names{answers: [][]string{{"127.0.0.1"}, {"169.254.169.254"}, {"127.0.0.2"}}}
	c := public(n.resolver(t), "127.0.0.1/32")
	for i, want := range []string{"", "169.254.169.254", "127.0.0.2"} {
		refused := get(t, c, "http://docs.example.com.:"+port)
		if (refused == nil) != (want == "") || refused != nil && refused.Addr.String() != want {
			t.Errorf("connection %d: %v, want %q", i+1, refused, want)
		}
		if n.asked != i+1 {
			t.Errorf("connection %d: %d look-ups", i+1, n.asked)
		}
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests arrived", requests.Load())
	}
}

// Of several addresses, the one that may be used is used.
func TestSeveralAddresses(t *testing.T) {
	port, requests := listen(t, ok)
	n := &names{answers: [][]string{{"10.0.0.1", "127.0.0.1", "192.168.0.1"}}}
	if refused := get(t, public(n.resolver(t), "127.0.0.1/32"), "http://docs.example.com.:"+port); refused != nil || requests.Load() != 1 {
		t.Errorf("%v, %d requests", refused, requests.Load())
	}
}

// A redirect leads to no address that is refused, also if the client follows it.
func TestRedirect(t *testing.T) {
	secret, leaked := listen(t, ok)
	n := &names{answers: [][]string{{"127.0.0.1"}}}
	for _, to := range []string{"http://127.0.0.2:" + secret, "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://[::1]:" + secret} {
		port, _ := listen(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		if refused := get(t, public(n.resolver(t), "127.0.0.1/32"), "http://docs.example.com.:"+port); refused == nil {
			t.Errorf("the redirect to %s is followed", to)
		}
	}
	if leaked.Load() != 0 {
		t.Error("a redirect arrived")
	}
}

// A proxy would look the name up where nobody checks the answer, so it is not used.
func TestNoProxy(t *testing.T) {
	if public(nil).Transport.(*http.Transport).Proxy != nil {
		t.Error("the transport uses a proxy")
	}
	if New().Proxy == nil {
		t.Error("other transports use none")
	}
}
