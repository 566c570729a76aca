package conn

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestFraming(t *testing.T) {
	const limit = 300
	lines, headers := conntest.Framings[0], conntest.Framings[1]
	large := strings.Repeat("x", limit+1)
	fits := conntest.Ping(`"` + strings.Repeat("x", limit-len(conntest.Ping(`""`))) + `"`)
	fitsPong := fmt.Sprintf(conntest.Pong, fits[len(`{"jsonrpc":"2.0","id":`):strings.Index(fits, `,"method"`)])
	over := fmt.Sprintf(conntest.TooLarge, limit)
	pong1, pong2 := fmt.Sprintf(conntest.Pong, "1"), fmt.Sprintf(conntest.Pong, "2")
	one, two := conntest.Ping("1"), conntest.Ping("2")

	cases := []struct {
		name, send, want string
		end              error
	}{
		{"nothing", "", "", nil},
		{"white space", " \n\t\r\n", "", nil},
		{"no newline at the end", one, lines.All(pong1), nil},
		{"CRLF", one + "\r\n" + two + "\r\n", lines.All(pong1, pong2), nil},
		{"empty lines", "\n\n" + one + "\n \n\t\n" + two + "\n\n", lines.All(pong1, pong2), nil},
		{"byte order mark", "\xef\xbb\xbf" + one + "\n", lines.All(pong1), nil},
		{"half a byte order mark", "\xef\xbb" + one + "\n" + two + "\n", lines.All(conntest.ParseError, pong2), nil},
		{"line that begins as a header would", "Con\n" + one + "\n", lines.All(conntest.ParseError, pong1), nil},
		{"only the beginning of a header", "Conten", lines.All(conntest.ParseError), nil},
		{"one value over two lines", "{\n\"jsonrpc\":\"2.0\"}\n" + one + "\n", lines.All(conntest.ParseError, conntest.ParseError, pong1), nil},
		{"two values in a line", one + one + "\n" + two + "\n", lines.All(conntest.ParseError, pong2), nil},
		{"as long as it may be", fits + "\n" + one + "\n", lines.All(fitsPong, pong1), nil},
		{"as long as it may be, CRLF", fits + "\r\n" + one + "\n", lines.All(fitsPong, pong1), nil},
		{"too long", large + "\n" + one + "\n", lines.All(over, pong1), nil},
		{"much too long", strings.Repeat("y", 10*readBuffer) + "\n" + one + "\n", lines.All(over, pong1), nil},
		{"too long, then the end", strings.Repeat("y", 3*readBuffer), lines.All(over), nil},

		{"body", headers.All(one, two), headers.All(pong1, pong2), nil},
		{"header names in another case", "CONTENT-LENGTH:" + strconv.Itoa(len(one)) + "\r\n\r\n" + one, headers.All(pong1), nil},
		{"Content-Type first", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + headers.Wrap(one), headers.All(pong1), nil},
		{"unknown header", "Content-Length: " + strconv.Itoa(len(one)) + "\r\nX-More: yes\r\n\r\n" + one, headers.All(pong1), nil},
		{"lines end without CR", "Content-Length: " + strconv.Itoa(len(one)) + "\n\n" + one, headers.All(pong1), nil},
		{"spaces around the length", "Content-Length :  " + strconv.Itoa(len(one)) + "  \r\n\r\n" + one + headers.Wrap(two), headers.All(conntest.ParseError, pong2), nil},
		{"newlines between messages", headers.Wrap(one) + "\r\n\n" + headers.Wrap(two), headers.All(pong1, pong2), nil},
		{"body with newlines", headers.Wrap("{\n\"jsonrpc\": \"2.0\",\n\"id\": 1,\n\"method\": \"ping\"\n}\n"), headers.All(pong1), nil},
		{"body of no bytes", headers.Wrap("") + headers.Wrap(one), headers.All(conntest.ParseError, pong1), nil},
		{"body cut off", "Content-Length: 100\r\n\r\n" + one, "", io.ErrUnexpectedEOF},
		{"header cut off", headers.Wrap(one) + "Content-Len", headers.All(pong1), nil},
		{"body as long as it may be", headers.All(fits, one), headers.All(fitsPong, pong1), nil},
		{"body too long", headers.All(large, one), headers.All(over, pong1), nil},
		{"body much too long", headers.All(strings.Repeat("y", 10*readBuffer), one), headers.All(over, pong1), nil},
		{"1 GB announced, nothing sent", "Content-Length: 1000000000\r\n\r\n", headers.All(over), nil},
		{"more announced than a number holds", "Content-Length: 99999999999999999999999\r\n\r\n" + headers.Wrap(one), headers.All(over), nil},
		{"no length", "Content-Type: x\r\n\r\n" + headers.Wrap(one), headers.All(conntest.ParseError, pong1), nil},
		{"length that is no number", "Content-Length: ten\r\n\r\n" + one + headers.Wrap(two), headers.All(conntest.ParseError, pong2), nil},
		{"negative length", "Content-Length: -5\r\n\r\n" + one + headers.Wrap(two), headers.All(conntest.ParseError, pong2), nil},
		{"junk between messages", headers.Wrap(one) + "{junk}\r\n" + headers.Wrap(two), headers.All(pong1, conntest.ParseError, pong2), nil},
		{"length too small", "Content-Length: 5\r\n\r\n" + one + headers.All(one, two), headers.All(conntest.ParseError, conntest.ParseError, pong1, pong2), nil},
		{"length misspelt before a large body", headers.Wrap(one) + "Content-Lenght: 5000\r\n\r\n\"" + strings.Repeat("z", 40<<10) + "\"" + headers.Wrap(two),
			headers.All(pong1, conntest.ParseError, pong2), nil},
		{"endless header line", headers.Wrap(one) + "X: " + strings.Repeat("z", 10*readBuffer) + "\r\n" + headers.Wrap(two), headers.All(pong1, conntest.ParseError, pong2), nil},
	}
	s := testServer(t, limit)
	for _, tc := range cases {
		for _, reader := range []struct {
			name string
			make func(string) io.Reader
		}{
			{"whole", func(s string) io.Reader { return strings.NewReader(s) }},
			{"byte by byte", func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }},
			{"end with the last bytes", func(s string) io.Reader { return iotest.DataErrReader(strings.NewReader(s)) }},
			{"odd pieces", func(s string) io.Reader { return &pieces{s, rand.New(rand.NewPCG(1, 2))} }},
		} {
			t.Run(tc.name+"/"+reader.name, func(t *testing.T) {
				got, err := converse(t, s, reader.make(tc.send))
				if !errors.Is(err, tc.end) {
					t.Errorf("Serve ended with %v, want %v", err, tc.end)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

// pieces gives a text in pieces of random length.
type pieces struct {
	text string
	rand *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:1+p.rand.IntN(len(b))], p.text)
	n = min(n, 1+p.rand.IntN(100))
	p.text = p.text[n:]
	return n, nil
}

// The answer to a message that is too large does not wait for the rest of it.
func TestTooLargeIsAnsweredAtOnce(t *testing.T) {
	const limit = 100
	for name, begin := range map[string]string{
		"line":   strings.Repeat("x", 2*readBuffer),
		"header": "Content-Length: 1000000000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, t.Context(), testServer(t, limit))
			defer p.HangUp()
			testgo.Go(t, func() { p.Conn.Write([]byte(begin)) }) // ends with the pipe
			want := conntest.Framings[0].Wrap(fmt.Sprintf(conntest.TooLarge, limit))
			if name == "header" {
				want = conntest.Framings[1].Wrap(fmt.Sprintf(conntest.TooLarge, limit))
			}
			got := make([]byte, len(want))
			if _, err := io.ReadFull(p.Conn, got); err != nil || string(got) != want {
				t.Errorf("got %s and %v, want %s", got, err, want)
			}
		})
	}
}

// endless is a message that does not end for a long while.
type endless struct{ left int }

var filler = strings.Repeat("x", readBuffer)

func (r *endless) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), r.left)
	n = copy(b[:n], filler)
	r.left -= n
	return n, nil
}

// A message above the limit is not held, however it is framed: hundreds of megabytes cost what reading a piece of it costs.
func TestTooLargeCostsNothing(t *testing.T) {
	const size = 1 << 28
	for name, input := range map[string]io.Reader{
		"line": &endless{size},
		"body": io.MultiReader(strings.NewReader("Content-Length: "+strconv.Itoa(size)+"\r\n\r\n"), &endless{size}),
	} {
		t.Run(name, func(t *testing.T) {
			const limit = 64 << 10
			s := testServer(t, limit)
			after := conntest.Framings[0]
			if name == "body" {
				after = conntest.Framings[1]
			}
			tail := "\n" + after.Wrap(conntest.Ping("1"))
			var before, then runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := converse(t, s, io.MultiReader(input, strings.NewReader(tail)))
			runtime.ReadMemStats(&then)
			if err != nil {
				t.Fatal(err)
			}
			if want := after.All(fmt.Sprintf(conntest.TooLarge, limit), fmt.Sprintf(conntest.Pong, "1")); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if used := then.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

// A message within the limit is held once, whatever lies in it: the allocations of all that is done with it are a
// small multiple of its size.
func TestLargeMessageMemory(t *testing.T) {
	const size = 2 << 20
	text := strings.Repeat("x", size-200)
	keys := make([]byte, 0, size)
	for i := 0; len(keys) < size-200; i++ {
		keys = append(append(append(keys, `,"k`...), strconv.Itoa(i)...), `":0`...)
	}
	for name, params := range map[string]string{
		"a long text nobody asked for": `{"x":"` + text + `"}`,
		"a long text":                  `{"text":"` + text + `"}`,
		"many keys":                    `{"text":"x"` + string(keys) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := testServer(t, 0)
			message := `{"jsonrpc":"2.0","id":1,"method":"echo","params":` + params + `}`
			var before, then runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := converse(t, s, strings.NewReader(message))
			runtime.ReadMemStats(&then)
			if err != nil || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,`) {
				t.Fatalf("%v, %.100s", err, got)
			}
			used := then.TotalAlloc - before.TotalAlloc
			t.Logf("%.1f times the message's size", float64(used)/size)
			if used > 20*size {
				t.Errorf("%d bytes were allocated for a message of %d", used, len(message))
			}
		})
	}
}
