package conntest

import (
	"fmt"
	"strings"
)

// Limits of a message, which the cases reach.
const (
	maxDepth  = 128
	maxMethod = 128
	maxID     = 1024
	maxBatch  = 64
)

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// Case is one message and all that comes back.
type Case struct{ Name, Send, Want string }

// IDs are cases about ids.
func IDs() []Case {
	var cases []Case
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
		cases = append(cases, Case{"id " + name, Ping(id), fmt.Sprintf(Pong, id)})
	}
	for id, detail := range map[string]string{
		`null`: "the id is null; leave it out of a notification",
		`true`: "the id is neither a string nor a number", `false`: "the id is neither a string nor a number",
		`[]`: "the id is neither a string nor a number", `[1]`: "the id is neither a string nor a number",
		`{}`: "the id is neither a string nor a number", `{"a":1}`: "the id is neither a string nor a number",
	} {
		cases = append(cases, Case{"id " + id, Ping(id), fmt.Sprintf(Refused, "null", detail)})
	}
	long := `"` + strings.Repeat("x", maxID-1) + `"`
	cases = append(cases, Case{"id too long", Ping(long), fmt.Sprintf(Refused, "null", "the id is longer than 1024 bytes")})
	for _, id := range []string{`01`, `+1`, `.5`, `1.`, `1e`, `0x10`, `NaN`, `'a'`, `"\x"`, "\"\t\"", `"a`, `tru`} {
		cases = append(cases, Case{"id that is no JSON " + id, Ping(id), ParseError})
	}
	return cases
}

// Shapes are cases about all else that a message may be. Servers have the methods echo, fail, panic and late.
func Shapes() []Case {
	long := strings.Repeat("m", maxMethod)
	return []Case{
		{"spaces around", " \t{ \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"ping\" } ", fmt.Sprintf(Pong, "7")},
		{"members in another order", `{"params":{},"method":"ping","id":7,"jsonrpc":"2.0"}`, fmt.Sprintf(Pong, "7")},
		{"unknown members", `{"jsonrpc":"2.0","id":7,"method":"ping","meta":{"id":8},"x":[1,{"id":9}]}`, fmt.Sprintf(Pong, "7")},
		{"params null", `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`, fmt.Sprintf(Pong, "7")},
		{"names with escapes", `{"\u006asonrpc":"2.\u0030","i\u0064":7,"method":"\u0070ing"}`, fmt.Sprintf(Pong, "7")},
		{"names in another case", `{"JSONRPC":"2.0","ID":7,"Method":"ping"}`, fmt.Sprintf(Invalid, "null")},
		{"number", `1`, fmt.Sprintf(Invalid, "null")},
		{"string", `"ping"`, fmt.Sprintf(Invalid, "null")},
		{"null", `null`, fmt.Sprintf(Invalid, "null")},
		{"true", `true`, fmt.Sprintf(Invalid, "null")},
		{"empty object", `{}`, fmt.Sprintf(Invalid, "null")},
		{"no version", `{"id":7,"method":"ping"}`, fmt.Sprintf(Invalid, "7")},
		{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, fmt.Sprintf(Invalid, "7")},
		{"version a number", `{"jsonrpc":2.0,"id":7,"method":"ping"}`, fmt.Sprintf(Invalid, "7")},
		{"version null", `{"jsonrpc":null,"id":7,"method":"ping"}`, fmt.Sprintf(Invalid, "7")},
		{"no version in a notification", `{"method":"ping"}`, fmt.Sprintf(Invalid, "null")},
		{"no method", `{"jsonrpc":"2.0","id":7}`, fmt.Sprintf(Invalid, "7")},
		{"no method, string id", `{"jsonrpc":"2.0","id":"\u0041"}`, fmt.Sprintf(Invalid, `"\u0041"`)},
		{"method null", `{"jsonrpc":"2.0","id":7,"method":null}`, fmt.Sprintf(Invalid, "7")},
		{"method an object", `{"jsonrpc":"2.0","id":7,"method":{}}`, fmt.Sprintf(Invalid, "7")},
		{"method empty", `{"jsonrpc":"2.0","id":7,"method":""}`, fmt.Sprintf(NotFound, "7")},
		{"method unknown", `{"jsonrpc":"2.0","id":7,"method":"session/fly"}`, fmt.Sprintf(NotFound, "7")},
		{"method in another case", `{"jsonrpc":"2.0","id":7,"method":"Ping"}`, fmt.Sprintf(NotFound, "7")},
		{"method as long as it may be", `{"jsonrpc":"2.0","id":7,"method":"` + long + `"}`, fmt.Sprintf(NotFound, "7")},
		{"method too long", `{"jsonrpc":"2.0","id":7,"method":"` + long + `m"}`, fmt.Sprintf(Refused, "7", "the method's name is longer than 128 bytes")},
		{"params a string", `{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}`, fmt.Sprintf(Refused, "7", "params are neither an object nor an array")},
		{"params a number", `{"jsonrpc":"2.0","id":7,"method":"ping","params":0}`, fmt.Sprintf(Refused, "7", "params are neither an object nor an array")},
		{"params positional", `{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}`, fmt.Sprintf(BadParams, "7", "params must be an object")},
		{"id twice", `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`, fmt.Sprintf(Refused, "null", "id is there twice")},
		{"method twice", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"fail"}`, fmt.Sprintf(Refused, "null", "method is there twice")},
		{"as deep as it may be", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(maxDepth-2) + `}}`, fmt.Sprintf(Pong, "7")},
		{"too deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(maxDepth-1) + `}}`, fmt.Sprintf(Refused, "7", "nested deeper than 128 levels")},
		{"20,000 deep", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(20000) + `}}`, fmt.Sprintf(Refused, "null", "nested deeper than 128 levels")},
		{"brackets in a string", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat(`[{\"`, 500) + `"}}`, fmt.Sprintf(Pong, "7")},
		{"a response", `{"jsonrpc":"2.0","id":7,"result":{}}`, ""},
		{"a response with an error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, ""},
		{"a response with result null", `{"jsonrpc":"2.0","id":"thinkd-1","result":null}`, ""},
		{"a response of another version", `{"id":[],"result":1}`, ""},
		{"a result beside a method", `{"jsonrpc":"2.0","id":7,"method":"ping","result":1}`, fmt.Sprintf(Pong, "7")},
		{"a notification", `{"jsonrpc":"2.0","method":"ping"}`, ""},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`, ""},
		{"a notification that fails", `{"jsonrpc":"2.0","method":"fail"}`, ""},
		{"a notification with bad params", `{"jsonrpc":"2.0","method":"echo","params":[1]}`, ""},
		{"a notification that panics", `{"jsonrpc":"2.0","method":"panic"}`, ""},
		{"cancel of nothing", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}`, ""},
		{"cancel without params", `{"jsonrpc":"2.0","method":"$/cancelRequest"}`, ""},
		{"cancel with positional params", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":[99]}`, ""},
		{"cancel as a request", `{"jsonrpc":"2.0","id":7,"method":"$/cancelRequest","params":{"id":7}}`, fmt.Sprintf(NotFound, "7")},
		{"two values", Ping("7") + Ping("8"), ParseError},
		{"cut off", Ping("7")[:20], ParseError},
		{"trailing comma", `{"jsonrpc":"2.0","id":7,"method":"ping",}`, ParseError},
		{"comment", `{"jsonrpc":"2.0","id":7,"method":"ping"} // hello`, ParseError},
		{"a byte that is no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", ParseError},
		{"half a character", "{\"jsonrpc\":\"2.0\",\"id\":\"\xe2\x82\",\"method\":\"ping\"}", ParseError},
		{"overlong UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xc0\xaf\",\"method\":\"ping\"}", ParseError},
		{"NUL", "\x00", ParseError},
		{"batch in a batch", `[[` + Ping("7") + `],[]]`, "[" + fmt.Sprintf(Invalid, "null") + "," + fmt.Sprintf(Invalid, "null") + "]"},
		{"batch with a response", `[{"jsonrpc":"2.0","id":7,"result":1},` + Ping("8") + `]`, "[" + fmt.Sprintf(Pong, "8") + "]"},
		{"batch of responses", `[{"jsonrpc":"2.0","id":7,"result":1}]`, ""},
		{"batch with a late method", `[{"jsonrpc":"2.0","id":7,"method":"late"},` + Ping("8") + `]`,
			"[" + fmt.Sprintf(Refused, "7", "late answers late and cannot be part of a batch") + "," + fmt.Sprintf(Pong, "8") + "]"},
		{"batch with an id twice", `[` + Ping("7") + `,` + Ping("7") + `,` + Ping("7.0") + `]`,
			"[" + fmt.Sprintf(Pong, "7") + "," + fmt.Sprintf(Refused, "7", "a request with this id is in flight") + "," + fmt.Sprintf(Pong, "7.0") + "]"},
		{"batch with one that is too deep", `[` + nested(maxDepth) + `,{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":` + nested(maxDepth) + `}},` + Ping("8") + `]`,
			"[" + fmt.Sprintf(Invalid, "null") + "," + fmt.Sprintf(Refused, "7", "nested deeper than 128 levels") + "," + fmt.Sprintf(Pong, "8") + "]"},
		{"batch of as many as it may have", `[` + strings.Repeat(`{"jsonrpc":"2.0","method":"ping"},`, maxBatch-1) + Ping("7") + `]`, "[" + fmt.Sprintf(Pong, "7") + "]"},
		{"batch of too many", `[` + strings.Repeat(`{"jsonrpc":"2.0","method":"ping"},`, maxBatch) + Ping("7") + `]`, fmt.Sprintf(Refused, "null", "a batch has at most 64 elements")},
		{"batch, spaces", ` [ ` + Ping("7") + " , \t" + Ping("8") + ` ] `, "[" + fmt.Sprintf(Pong, "7") + "," + fmt.Sprintf(Pong, "8") + "]"},
	}
}
