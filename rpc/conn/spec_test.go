package conn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/rpc/conntest"
)

// The examples of section 7 of the JSON-RPC 2.0 specification, in its order. An answer is a JSON value, so the order of
// its members is ours.
func TestSpecificationExamples(t *testing.T) {
	const none = ""
	cases := []struct{ name, send, want string }{
		{"positional", `{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}`,
			`{"jsonrpc":"2.0","id":1,"result":19}`},
		{"positional, other order", `{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}`,
			`{"jsonrpc":"2.0","id":2,"result":-19}`},
		{"named", `{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}`,
			`{"jsonrpc":"2.0","id":3,"result":19}`},
		{"named, other order", `{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}`,
			`{"jsonrpc":"2.0","id":4,"result":19}`},
		{"notification", `{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}`, none},
		{"unknown notification", `{"jsonrpc": "2.0", "method": "foobar"}`, none},
		{"unknown method", `{"jsonrpc": "2.0", "method": "foobar", "id": "1"}`,
			`{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"Method not found"}}`},
		{"invalid JSON", `{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{"invalid request", `{"jsonrpc": "2.0", "method": 1, "params": "bar"}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{"batch, invalid JSON", `[ {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method" ]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{"empty array", `[]`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{"invalid batch, not empty", `[1]`,
			`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}]`},
		{"invalid batch", `[1,2,3]`,
			`[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},` +
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},` +
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}]`},
		{"batch", `[ {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},` +
			` {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},` +
			` {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},` +
			` {"foo": "boo"},` +
			` {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},` +
			` {"jsonrpc": "2.0", "method": "get_data", "id": "9"} ]`,
			`[{"jsonrpc":"2.0","id":"1","result":7},{"jsonrpc":"2.0","id":"2","result":19},` +
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},` +
				`{"jsonrpc":"2.0","id":"5","error":{"code":-32601,"message":"Method not found"}},` +
				`{"jsonrpc":"2.0","id":"9","result":["hello",5]}]`},
		{"batch of notifications", `[ {"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},` +
			` {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]} ]`, none},
	}
	s := testServer(t, 0)
	for _, f := range conntest.Framings {
		for _, tc := range cases {
			t.Run(f.Name+"/"+tc.name, func(t *testing.T) {
				got, err := converse(t, s, strings.NewReader(f.Wrap(tc.send)))
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				if tc.want != none {
					want = f.Wrap(tc.want)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}
