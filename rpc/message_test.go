package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Answers that many cases share.
const (
	pong       = `{"jsonrpc":"2.0","id":%s,"result":{}}`
	parseError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	invalid    = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid Request"}}`
	refused    = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Invalid Request","data":{"detail":"%s","kind":"invalid_request"}}}`
	notFound   = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`
	badParams  = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"%s","data":{"kind":"invalid_params"}}}`
	badMember  = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"%s","data":{"field":"%s","kind":"invalid_params"}}}`
)

// ping is a request with an id as it stands there.
func pingWith(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// frameCase is one message and the whole of what comes back.
type frameCase struct{ name, send, want string }

func idCases() []frameCase {
	var cases []frameCase
	for _, id := range []string{
		`0`, `1`, `-1`, `-0`, `1.5`, `-2.75`, `1.0`, `1e3`, `1E+3`, `2.5e-7`, `-1e400`,
		`9007199254740993`, `9223372036854775807`, `9223372036854775808`, `18446744073709551615`, `18446744073709551616`,
		`-9223372036854775809`, `123456789012345678901234567890.123456789012345678901234567890`,
		`""`, `" "`, `"a"`, `"1"`, `"null"`, `"\u0041"`, `"\n\t\"\\\/"`, `"\ud83d\ude00"`, `"\ud800"`, `"<&>"`, "\"\u00e9\u2028😀\"",
		`"{\"id\":2}"`, `"` + strings.Repeat("x", maxID-2) + `"`,
	} {
		name := id
		if len(name) > 40 {
			name = name[:40]
		}
		cases = append(cases, frameCase{"id " + name, pingWith(id), fmt.Sprintf(pong, id)})
	}
	for id, detail := range map[string]string{
		`null`: "the id is null; leave it out of a notification",
		`true`: "the id is neither a string nor a number", `false`: "the id is neither a string nor a number",
		`[]`: "the id is neither a string nor a number", `[1]`: "the id is neither a string nor a number",
		`{}`: "the id is neither a string nor a number", `{"a":1}`: "the id is neither a string nor a number",
	} {
		cases = append(cases, frameCase{"id " + id, pingWith(id), fmt.Sprintf(refused, "null", detail)})
	}
	long := `"` + strings.Repeat("x", maxID-1) + `"`
	cases = append(cases, frameCase{"id too long", pingWith(long), fmt.Sprintf(refused, "null", "the id is longer than 1024 bytes")})
	for _, id := range []string{`01`, `+1`, `.5`, `1.`, `1e`, `0x10`, `NaN`, `'a'`, `"\x"`, "\"\t\"", `"a`, `tru`} {
		cases = append(cases, frameCase{"id that is no JSON " + id, pingWith(id), parseError})
	}
	return cases
}

func shapeCases() []frameCase {
	long := strings.Repeat("m", maxMethod)
	return []frameCase{
		{"spaces around", " \t{ \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"ping\" } ", fmt.Sprintf(pong, "7")},
		{"members in another order", `{"params":{},"method":"ping","id":7,"jsonrpc":"2.0"}`, fmt.Sprintf(pong, "7")},
		{"unknown members", `{"jsonrpc":"2.0","id":7,"method":"ping","meta":{"id":8},"x":[1,{"id":9}]}`, fmt.Sprintf(pong, "7")},
		{"params null", `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`, fmt.Sprintf(pong, "7")},
		{"names with escapes", `{"\u006asonrpc":"2.\u0030","i\u0064":7,"method":"\u0070ing"}`, fmt.Sprintf(pong, "7")},
		{"names in another case", `{"JSONRPC":"2.0","ID":7,"Method":"ping"}`, fmt.Sprintf(invalid, "null")},
		{"number", `1`, fmt.Sprintf(invalid, "null")},
		{"string", `"ping"`, fmt.Sprintf(invalid, "null")},
		{"null", `null`, fmt.Sprintf(invalid, "null")},
		{"true", `true`, fmt.Sprintf(invalid, "null")},
		{"empty object", `{}`, fmt.Sprintf(invalid, "null")},
		{"no version", `{"id":7,"method":"ping"}`, fmt.Sprintf(invalid, "7")},
		{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, fmt.Sprintf(invalid, "7")},
		{"version a number", `{"jsonrpc":2.0,"id":7,"method":"ping"}`, fmt.Sprintf(invalid, "7")},
		{"version null", `{"jsonrpc":null,"id":7,"method":"ping"}`, fmt.Sprintf(invalid, "7")},
		{"no version in a notification", `{"method":"ping"}`, fmt.Sprintf(invalid, "null")},
		{"no method", `{"jsonrpc":"2.0","id":7}`, fmt.Sprintf(invalid, "7")},
		{"no method, string id", `{"jsonrpc":"2.0","id":"\u0041"}`, fmt.Sprintf(invalid, `"\u0041"`)},
		{"method null", `{"jsonrpc":"2.0","id":7,"method":null}`, fmt.Sprintf(invalid, "7")},
		{"method an object", `{"jsonrpc":"2.0","id":7,"method":{}}`, fmt.Sprintf(invalid, "7")},
		{"method empty", `{"jsonrpc":"2.0","id":7,"method":""}`, fmt.Sprintf(notFound, "7")},
		{"method unknown", `{"jsonrpc":"2.0","id":7,"method":"session/fly"}`, fmt.Sprintf(notFound, "7")},
		{"method in another case", `{"jsonrpc":"2.0","id":7,"method":"Ping"}`, fmt.Sprintf(notFound, "7")},
		{"method as long as it may be", `{"jsonrpc":"2.0","id":7,"method":"` + long + `"}`, fmt.Sprintf(notFound, "7")},
		{"method too long", `{"jsonrpc":"2.0","id":7,"method":"` + long + `m"}`, fmt.Sprintf(refused, "7", "the method's name is longer than 128 bytes")},
		{"params a string", `{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}`, fmt.Sprintf(refused, "7", "params are neither an object nor an array")},
		{"params a number", `{"jsonrpc":"2.0","id":7,"method":"ping","params":0}`, fmt.Sprintf(refused, "7", "params are neither an object nor an array")},
		{"params positional", `{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}`, fmt.Sprintf(badParams, "7", "params must be an object")},
		{"id twice", `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`, fmt.Sprintf(refused, "null", "id is there twice")},
		{"method twice", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"fail"}`, fmt.Sprintf(refused, "null", "method is there twice")},
		{"as deep as it may be", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(maxDepth-2) + `}}`, fmt.Sprintf(pong, "7")},
		{"too deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(maxDepth-1) + `}}`, fmt.Sprintf(refused, "7", "nested deeper than 128 levels")},
		{"20,000 deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(20000) + `}}`, fmt.Sprintf(refused, "null", "nested deeper than 128 levels")},
		{"brackets in a string", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat(`[{\"`, 500) + `"}}`, fmt.Sprintf(pong, "7")},
		{"a response", `{"jsonrpc":"2.0","id":7,"result":{}}`, ""},
		{"a response with an error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, ""},
		{"a response with result null", `{"jsonrpc":"2.0","id":"thinkd-1","result":null}`, ""},
		{"a response of another version", `{"id":[],"result":1}`, ""},
		{"a result beside a method", `{"jsonrpc":"2.0","id":7,"method":"ping","result":1}`, fmt.Sprintf(pong, "7")},
		{"a notification", `{"jsonrpc":"2.0","method":"ping"}`, ""},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`, ""},
		{"a notification that fails", `{"jsonrpc":"2.0","method":"fail"}`, ""},
		{"a notification with bad params", `{"jsonrpc":"2.0","method":"echo","params":[1]}`, ""},
		{"a notification that panics", `{"jsonrpc":"2.0","method":"panic"}`, ""},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}`, ""},
		{"cancel without params", `{"jsonrpc":"2.0","method":"$/cancelRequest"}`, ""},
		{"cancel with positional params", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":[99]}`, ""},
		{"cancel as a request", `{"jsonrpc":"2.0","id":7,"method":"$/cancelRequest","params":{"id":7}}`, fmt.Sprintf(notFound, "7")},
		{"two values", pingWith("7") + pingWith("8"), parseError},
		{"cut off", pingWith("7")[:20], parseError},
		{"trailing comma", `{"jsonrpc":"2.0","id":7,"method":"ping",}`, parseError},
		{"comment", `{"jsonrpc":"2.0","id":7,"method":"ping"} // hello`, parseError},
		{"a byte that is no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", parseError},
		{"half a character", "{\"jsonrpc\":\"2.0\",\"id\":\"\xe2\x82\",\"method\":\"ping\"}", parseError},
		{"overlong UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\xaf\",\"method\":\"ping\"}", parseError},
		{"NUL", "\x00", parseError},
		{"batch in a batch", `[[` + pingWith("7") + `],[]]`, "[" + fmt.Sprintf(invalid, "null") + "," + fmt.Sprintf(invalid, "null") + "]"},
		{"batch with a response", `[{"jsonrpc":"2.0","id":7,"result":1},` + pingWith("8") + `]`, "[" + fmt.Sprintf(pong, "8") + "]"},
		{"batch of responses", `[{"jsonrpc":"2.0","id":7,"result":1}]`, ""},
		{"batch with a late method", `[{"jsonrpc":"2.0","id":7,"method":"late"},` + pingWith("8") + `]`,
			"[" + fmt.Sprintf(refused, "7", "late answers late and cannot be part of a batch") + "," + fmt.Sprintf(pong, "8") + "]"},
		{"batch with an id twice", `[` + pingWith("7") + `,` + pingWith("7") + `,` + pingWith("7.0") + `]`,
			"[" + fmt.Sprintf(pong, "7") + "," + fmt.Sprintf(refused, "7", "a request with this id is in flight") + "," + fmt.Sprintf(pong, "7.0") + "]"},
		{"batch with one that is too deep", `[` + nested(maxDepth) + `,{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(maxDepth) + `}},` + pingWith("8") + `]`,
			"[" + fmt.Sprintf(invalid, "null") + "," + fmt.Sprintf(refused, "7", "nested deeper than 128 levels") + "," + fmt.Sprintf(pong, "8") + "]"},
		{"batch of as many as it may have", `[` + strings.Repeat(`{"jsonrpc":"2.0","method":"ping"},`, maxBatch-1) + pingWith("7") + `]`, "[" + fmt.Sprintf(pong, "7") + "]"},
		{"batch of too many", `[` + strings.Repeat(`{"jsonrpc":"2.0","method":"ping"},`, maxBatch) + pingWith("7") + `]`, fmt.Sprintf(refused, "null", "a batch has at most 64 elements")},
		{"batch, spaces", ` [ ` + pingWith("7") + " , \t" + pingWith("8") + ` ] `, "[" + fmt.Sprintf(pong, "7") + "," + fmt.Sprintf(pong, "8") + "]"},
	}
}

func TestFrameTable(t *testing.T) {
	s := testServer(t, Config{})
	cases := append(idCases(), shapeCases()...)
	if len(cases) < 60 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, f := range framings {
		for _, tc := range cases {
			t.Run(f.name+"/"+tc.name, func(t *testing.T) {
				// The connection lives on: a ping behind it is answered.
				got, err := converse(t, s, strings.NewReader(f.all(tc.send, pingWith(`"after"`))))
				if err != nil {
					t.Fatal(err)
				}
				want := f.wrap(fmt.Sprintf(pong, `"after"`))
				if tc.want != "" {
					want = f.wrap(tc.want) + want
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

func TestMalformedInARow(t *testing.T) {
	bad := make([]string, maxMalformed)
	for i := range bad {
		bad[i] = []string{`{`, `[]`, `[1,2]`, `{"id":1}`}[i%4]
	}
	for _, f := range framings {
		t.Run(f.name, func(t *testing.T) {
			s := testServer(t, Config{})
			nearly := f.all(bad[1:]...)
			got, err := converse(t, s, strings.NewReader(nearly+f.wrap(pingWith("1"))+nearly+f.wrap(pingWith("2"))))
			if err != nil || !strings.HasSuffix(got, f.wrap(fmt.Sprintf(pong, "2"))) {
				t.Errorf("%d malformed messages and a good one, twice: %v, %s", maxMalformed-1, err, got)
			}
			got, err = converse(t, s, strings.NewReader(f.all(bad...)+f.wrap(pingWith("1"))))
			if !errors.Is(err, errMalformed) {
				t.Errorf("%d malformed messages: Serve ended with %v", maxMalformed, err)
			}
			if n := strings.Count(got, `"code"`); n != maxMalformed+maxMalformed/4 {
				t.Errorf("%d errors came for %d malformed messages:\n%s", n, maxMalformed, got)
			}
			if strings.Contains(got, `"result"`) {
				t.Errorf("what came after them was handled:\n%s", got)
			}
		})
	}
}

// Elements and members are found in valid JSON as encoding/json finds them.
func TestMembersAndElements(t *testing.T) {
	object := []byte(` { "a" : 1 , "b\"":"}]\\\"" ,"":{"x":[ {},[]," ] "]}, "c":[],"d":null,"e":-1.5e+3 } `)
	var want map[string]json.RawMessage
	if err := json.Unmarshal(object, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{}
	for name, value := range members(bytes.TrimSpace(object)) {
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got)\n%s", diff)
	}

	array := []byte(` [ 1 ,"a]",[ ], {"b":[ "\\" ]} ,true ] `)
	var wantList, gotList []json.RawMessage
	if err := json.Unmarshal(array, &wantList); err != nil {
		t.Fatal(err)
	}
	for value := range elements(array) {
		gotList = append(gotList, value)
	}
	if diff := cmp.Diff(wantList, gotList); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	for range elements([]byte(`[ ]`)) {
		t.Error("an empty array has an element")
	}
	for range members([]byte(`{ }`)) {
		t.Error("an empty object has a member")
	}
}
