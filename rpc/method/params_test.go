package method

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
)

type inner struct {
	Depth int     `json:"depth"`
	Ratio float64 `json:"ratio,omitempty"`
}

type embedded struct {
	Session string `json:"session_id"`
}

type everything struct {
	embedded
	Text     string                     `json:"text,omitempty"`
	Flag     *bool                      `json:"flag,omitempty"`
	Count    uint                       `json:"count,omitempty"`
	List     []string                   `json:"list,omitempty"`
	Inner    inner                      `json:"inner,omitzero"`
	Map      map[string]json.RawMessage `json:"map,omitempty"`
	Raw      json.RawMessage            `json:"raw,omitempty"`
	Content  provider.Blocks            `json:"content,omitempty"`
	Unlisted string                     `json:"-"`
	hidden   string
}

func TestDecodeParams(t *testing.T) {
	yes := true
	cases := []struct {
		name, params string
		want         everything
		field, text  string // of the error
	}{
		{name: "required alone", params: `{"session_id":"a"}`, want: everything{embedded: embedded{"a"}}},
		{name: "all", params: `{"session_id":"a","text":"é","flag":true,"count":3,"list":["x"],"inner":{"depth":1,"ratio":0.5},"map":{"k":[1]},"raw":{"a":1}}`,
			want: everything{embedded{"a"}, "é", &yes, 3, []string{"x"}, inner{1, 0.5}, map[string]json.RawMessage{"k": json.RawMessage("[1]")}, json.RawMessage(`{"a":1}`), nil, "", ""}},
		{name: "null is absent", params: `{"session_id":"a","text":null,"flag":null,"list":null,"inner":null,"map":null,"raw":null,"content":null,"after":null}`,
			want: everything{embedded: embedded{"a"}}},
		{name: "unknown members", params: `{"session_id":"a","more":{"session_id":1},"Text":"no","Unlisted":"no","-":"no","hidden":"no"}`,
			want: everything{embedded: embedded{"a"}}},
		{name: "the last of two counts", params: `{"session_id":"a","session_id":"b"}`, want: everything{embedded: embedded{"b"}}},

		{name: "no params", params: ``, field: "session_id", text: "session_id: is missing"},
		{name: "empty", params: `{}`, field: "session_id", text: "session_id: is missing"},
		{name: "required null", params: `{"session_id":null}`, field: "session_id", text: "session_id: is missing"},
		{name: "required in another case", params: `{"SESSION_ID":"a"}`, field: "session_id", text: "session_id: is missing"},
		{name: "positional", params: `["a"]`, text: "params must be an object"},
		{name: "number for a string", params: `{"session_id":7}`, field: "session_id", text: "session_id: must be a string, not number"},
		{name: "string for a flag", params: `{"session_id":"a","flag":"yes"}`, field: "flag", text: "flag: must be true or false, not string"},
		{name: "negative", params: `{"session_id":"a","count":-1}`, field: "count", text: "count: must be a whole number, not negative, not number -1"},
		{name: "fraction", params: `{"session_id":"a","inner":{"depth":1.5}}`, field: "inner.depth", text: "inner.depth: must be a whole number, not number 1.5"},
		{name: "string for a number", params: `{"session_id":"a","inner":{"ratio":"x"}}`, field: "inner.ratio", text: "inner.ratio: must be a number, not string"},
		{name: "object for a list", params: `{"session_id":"a","list":{}}`, field: "list", text: "list: must be an array, not object"},
		{name: "list for an object", params: `{"session_id":"a","inner":[]}`, field: "inner", text: "inner: must be an object, not array"},
		{name: "wrong element", params: `{"session_id":"a","list":["x",1]}`, field: "list", text: "list: must be a string, not number"},
		{name: "a block of no kind", params: `{"session_id":"a","content":[{"type":"text","text":"x"},{"type":"smell"}]}`, field: "content",
			text: `content: block 1: type: "smell" is not one of text, thinking, tool_call, tool_result, media`},
	}
	fields := FieldsOf(reflect.TypeFor[everything]())
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			var got everything
			err := DecodeParams(json.RawMessage(tc.params), reflect.ValueOf(&got).Elem(), fields)
			if tc.text == "" {
				if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(everything{}, embedded{})); diff != "" || err != nil {
					t.Errorf("%v (-want +got)\n%s", err, diff)
				}
				return
			}
			e, ok := errors.AsType[*conn.Error](err)
			if !ok || e.Code != conn.CodeInvalidParams || e.Message != tc.text {
				t.Fatalf("got %v, want %s", err, tc.text)
			}
			if field, _ := e.Data["field"].(string); field != tc.field {
				t.Errorf("the error names %q, want %q", field, tc.field)
			}
		})
	}
}
