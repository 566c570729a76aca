package ownjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider/ownjson"
	"github.com/thinkd/thinkd/provider/testgo"
)

// own writes its JSON itself.
type own struct{ text string }

func (o own) MarshalJSON() ([]byte, error) { return json.Marshal("own:" + o.text) }

func (o *own) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	text, ok := strings.CutPrefix(text, "own:")
	if !ok {
		return fmt.Errorf("%q is not own", text)
	}
	o.text = text
	return nil
}

type inner struct {
	Word  string `json:"word"`
	Count int    `json:"count,omitempty"`
}

type word string

// all has a member of each kind that this program stores.
type all struct {
	inner
	Text    string                     `json:"text"`
	Word    word                       `json:"kind,omitempty"`
	Yes     bool                       `json:"yes,omitempty"`
	Int     int                        `json:"int,omitempty"`
	Small   int8                       `json:"small,omitempty"`
	Long    int64                      `json:"long,omitempty"`
	Hash    uint64                     `json:"hash,omitempty"`
	Float   float64                    `json:"float,omitempty"`
	Raw     json.RawMessage            `json:"raw,omitempty"`
	Data    []byte                     `json:"data,omitempty"`
	Own     own                        `json:"own,omitzero"`
	OwnAt   *own                       `json:"own_at,omitempty"`
	At      *inner                     `json:"at,omitempty"`
	TextAt  *string                    `json:"text_at,omitempty"`
	List    []inner                    `json:"list,omitempty"`
	ListAt  *[]string                  `json:"list_at,omitempty"`
	Numbers []int                      `json:"numbers,omitempty"`
	Map     map[string]json.RawMessage `json:"map,omitempty"`
	Any     any                        `json:"any,omitempty"`
	Time    time.Time                  `json:"time,omitzero"`
	Address netip.Addr                 `json:"address,omitzero"`
	Fixed   [2]int                     `json:"fixed,omitzero"`
	Itself  *all                       `json:"itself,omitempty"`
	Hidden  int                        `json:"-"`
	Number  json.Number                `json:"number,omitempty"`
}

// same fails unless both packages read the same of data, or fail with the same error.
func same[T any](t interface {
	Helper()
	Fatalf(string, ...any)
}, data []byte) {
	t.Helper()
	var want, got T
	wantErr, gotErr := json.Unmarshal(data, &want), ownjson.Unmarshal(data, &got)
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		t.Fatalf("%s\nencoding/json: %v\nownjson: %v", data, wantErr, gotErr)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s\nencoding/json: %+v\nownjson: %+v", data, want, got)
	}
}

var documents = []string{
	``, ` `, `null`, `{}`, `{} `, ` {}`, `[]`, `{`, `{"text":"a"`, `{"text":"a",}`, `{"text":"a"}}`, `{"text":"a" }`,
	`{"text":"a","text":"b"}`, `{"yes":true,"text":"b"}`, `{"TEXT":"a"}`, `{"Text":"a"}`, `{"none":1}`, `{"text":"a","none":1}`, `{"-":1}`, `{"Hidden":1}`,
	`{"word":"w","count":3}`, `{"inner":{"word":"w"}}`, `{"text":null}`, `{"text":3}`, `{"int":null}`, `{"int":"3"}`, `{"yes":null}`, `{"yes":tru}`,
	`{"int":01}`, `{"int":-0}`, `{"int":-}`, `{"int":1.0}`, `{"int":1e2}`, `{"int":9223372036854775807}`, `{"int":9223372036854775808}`, `{"int":999999999999999999}`,
	`{"int":-999999999999999999}`, `{"small":127}`, `{"small":128}`, `{"small":-128}`, `{"hash":18446744073709551615}`, `{"hash":-1}`, `{"hash":7}`,
	`{"float":1}`, `{"float":-1.5e-7}`, `{"float":1e999}`, `{"float":.5}`, `{"float":5.}`, `{"float":1e}`, `{"float":+1}`, `{"float":00}`, `{"float":null}`,
	`{"text":"\n\t\"\\\/\b\f\r"}`, `{"text":"\u00e4\u003c\u2028\u0000"}`, `{"text":"\ud83d\ude00"}`, `{"text":"\ud83d"}`, `{"text":"\u12"}`, `{"text":"\x"}`, `{"text":"\`,
	`{"text":"ä😀"}`, "{\"text\":\"a\xff\"}", "{\"text\":\"a\x01\"}", "{\"text\":\"\\\x01\"}", "{\"raw\":\"\xff\"}", "{\"raw\":{\"\\q\":1}}", `{"text":"\u00zz"}`,
	`{"raw":"\u12"}`, `{"raw":"\u00e4\n\\"}`, `{"raw":"\ud83d"}`, `{"raw":"\`, `{"raw":{"\u00e4\"\t":"\/"}}`, `{"raw":{"\u00z4":1}}`, `{"raw":{"\\":{"\x":1}}}`,
	`{"raw":null}`, `{"raw":[1,{"a":[]}, 2]}`, `{"raw":[1,{"a":[true,false,null,"x",-1.5]},{}]}`, `{"raw":[1,]}`, `{"raw":{"a"}}`, `{"raw":{"a":}}`, `{"raw":{,}}`, `{"raw":[1 2]}`, `{"raw":tru}`, `{"raw":nul}`,
	`{"raw":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `{"raw":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	`{"data":"YWI="}`, `{"data":"!"}`, `{"data":null}`, `{"own":"own:x"}`, `{"own":"x"}`, `{"own":null}`, `{"own_at":null}`, `{"own_at":"own:y"}`, `{"own":{"a":1}}`,
	`{"at":null}`, `{"at":{}}`, `{"at":{"word":"x"}}`, `{"at":[]}`, `{"text_at":""}`, `{"text_at":null}`, `{"list":null}`, `{"list":[]}`, `{"list":[{}]}`, `{"list":[null]}`,
	`{"list":[{"word":"a","count":1},{"word":"b"},{"count":2}]}`, `{"list":[{"word":"a"}`, `{"list":[{"word":"a"},]}`, `{"list":{}}`, `{"list_at":[]}`, `{"list_at":null}`, `{"list_at":["a",null]}`, `{"numbers":[1,2,3,4,5,6,7,8,9]}`, `{"numbers":[1,"2"]}`,
	`{"map":{"a":1,"b":null}}`, `{"map":null}`, `{"any":{"a":[1]}}`, `{"any":null}`, `{"time":"2026-11-28T09:00:00Z"}`, `{"time":"yesterday"}`, `{"address":"::1"}`, `{"address":"x"}`,
	`{"fixed":[1,2]}`, `{"fixed":[1]}`, `{"itself":{"itself":{"text":"deep"}}}`, `{"number":12}`, `{"number":"12"}`, `{"number":"x"}`, `nullx`, `{"text":"a"}x`,
}

func TestUnmarshalAsEncodingJSON(t *testing.T) {
	for _, data := range documents {
		same[all](t, []byte(data))
		same[*all](t, []byte(data))
		same[[]inner](t, []byte(data))
		same[json.RawMessage](t, []byte(data))
		same[string](t, []byte(data))
		same[float64](t, []byte(data))
	}
}

// What the target had before is lost, in contrast to encoding/json.
func TestUnmarshalIntoOldValue(t *testing.T) {
	v := all{Text: "old", Int: 3, List: []inner{{Count: 1}}}
	if err := ownjson.Unmarshal([]byte(`{"yes":true}`), &v); err != nil || !reflect.DeepEqual(v, all{Yes: true}) {
		t.Fatal(v, err)
	}
}

// A value does not share memory with the JSON that it is read from.
func TestUnmarshalCopies(t *testing.T) {
	data := []byte(`{"text":"abc","raw":[1],"own":"own:x"}`)
	var v all
	if err := ownjson.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if v.Text != "abc" || string(v.Raw) != "[1]" || v.Own.text != "x" {
		t.Fatalf("%+v", v)
	}
}

// Short strings that come again are shared: what another value reads later, of the same length or on another goroutine, does not change them.
func TestUnmarshalSharesStrings(t *testing.T) {
	const many = 1000 // more than are shared
	document := func(n int) []byte {
		return fmt.Appendf(nil, `{"text":"%04d","kind":"%s","list":[{"word":"same"},{"word":"%d"}]}`, n, strings.Repeat("x", n%40), n)
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(testgo.Guard(t, func() {
			var read [many]all
			for n := range many {
				if err := ownjson.Unmarshal(document(n), &read[n]); err != nil {
					t.Error(n, err)
				}
			}
			for n, got := range read {
				want := all{Text: fmt.Sprintf("%04d", n), Word: word(strings.Repeat("x", n%40)), List: []inner{{Word: "same"}, {Word: fmt.Sprint(n)}}}
				if !reflect.DeepEqual(want, got) {
					t.Errorf("%d: %+v", n, got)
				}
			}
		}))
	}
	readers.Wait()
}

// Structs with names that are hard to find are read too.
func TestUnmarshalOtherStructs(t *testing.T) {
	type plain struct{ Name string }
	type twice struct {
		inner
		Other string `json:"word"`
	}
	type pointer struct {
		*inner
		Name string `json:"name"`
	}
	type quoted struct {
		Count int `json:"count,string"`
	}
	for _, data := range []string{`{"Name":"a"}`, `{"name":"a"}`, `{"word":"x","count":1}`, `{"count":"12"}`, `{"word":"x","name":"y"}`} {
		same[plain](t, []byte(data))
		same[twice](t, []byte(data))
		same[pointer](t, []byte(data))
		same[quoted](t, []byte(data))
	}
}

// Random values, as encoding/json writes them and with a few bytes changed.
func TestUnmarshalRandomValues(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "plain", "<a&b>", "line\nline", "\u2028", "😀", "\x00", `\"`}))
	inners := rapid.Custom(func(t *rapid.T) inner { return inner{texts.Draw(t, "word"), rapid.IntRange(-3, 3).Draw(t, "count")} })
	values := rapid.Custom(func(t *rapid.T) all {
		return all{
			inner: inners.Draw(t, "inner"), Text: texts.Draw(t, "text"), Word: word(texts.Draw(t, "kind")), Yes: rapid.Bool().Draw(t, "yes"),
			Int: rapid.Int().Draw(t, "int"), Small: rapid.Int8().Draw(t, "small"), Long: rapid.Int64().Draw(t, "long"), Hash: rapid.Uint64().Draw(t, "hash"),
			Float: rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"),
			Own: own{texts.Draw(t, "own")}, At: rapid.Ptr(inners, true).Draw(t, "at"), TextAt: rapid.Ptr(texts, true).Draw(t, "text_at"),
			List: rapid.SliceOfN(inners, 0, 9).Draw(t, "list"), Numbers: rapid.SliceOfN(rapid.Int(), 0, 9).Draw(t, "numbers"),
		}
	})
	testgo.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		if rapid.Bool().Draw(t, "nested") {
			inside := values.Draw(t, "inside")
			v.Itself = &inside
			raw, err := json.Marshal(inside)
			if err != nil {
				t.Fatal(err)
			}
			v.Raw = raw
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		same[all](t, data)
		writesSame(t, v)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				data[at] = rapid.SampledFrom([]byte("{}[]\",:\\ tfn019-+.eu\x00\xff")).Draw(t, "byte")
			case 1:
				data = append(data[:at], data[at+1:]...)
			case 2:
				data = data[:at+1]
			}
			if len(data) == 0 {
				break
			}
		}
		same[all](t, data)
	})
}

func FuzzUnmarshal(f *testing.F) {
	for _, data := range documents {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) { same[all](t, data) })
}

// writesSame fails unless both packages write the same bytes for v, or fail with the same error.
func writesSame(t interface {
	Helper()
	Fatalf(string, ...any)
}, v any) {
	t.Helper()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	wantErr := enc.Encode(v)
	got, gotErr := ownjson.Append([]byte("before"), v)
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		t.Fatalf("%+v\nencoding/json: %v\nownjson: %v", v, wantErr, gotErr)
	}
	if text := "before" + strings.TrimSuffix(want.String(), "\n"); gotErr == nil && string(got) != text {
		t.Fatalf("%+v\nencoding/json: %s\nownjson: %s", v, text, got)
	}
}

func TestAppendAsEncodingJSON(t *testing.T) {
	type onPointer struct {
		In      own  `json:"in"`
		Nil     *own `json:"nil"`
		Content any  `json:"content"`
	}
	type odd struct {
		Both  int            `json:"both,omitempty,omitzero"`
		Plain string         `json:"plain"`
		Ptr   *onPointer     `json:"ptr,omitzero"`
		Empty struct{}       `json:"empty,omitempty"`
		Map   map[string]int `json:"map,omitzero"`
	}
	raw := json.RawMessage(`{"a":[1]}`)
	text := "x<&>"
	for _, v := range []any{nil, 1, "a\b\f\r\x7f\u2029", "\xff", true, int8(-3), uint64(1<<64 - 1), 1.5, 1e30, []int(nil), []int{}, []any{nil, 1, raw, &raw, (*json.RawMessage)(nil), text, &text},
		map[string]any{"<": raw, "a": "<"}, json.RawMessage(nil), json.RawMessage{}, json.RawMessage(`{ "a" : 1 }`), json.RawMessage(`{"<":"\u2028"}`), json.RawMessage("\"\u2028\xff\""),
		json.RawMessage(`{"a":`), json.RawMessage(`1 2`), own{"<a>"}, &own{"b"}, (*own)(nil), [2]int{1, 2}, []byte("ab"), json.Number("12"), json.Number(""), time.Unix(0, 0).UTC(), netip.Addr{},
		onPointer{In: own{"c"}, Content: &onPointer{Content: []any{raw, own{"d"}}}}, &onPointer{Nil: &own{"e"}, Content: inner{Word: "w"}}, odd{}, odd{Both: 1, Ptr: &onPointer{}, Map: map[string]int{"b": 1, "a": 2}},
		all{inner: inner{Word: "x"}, Raw: raw, Any: raw}, &all{Raw: json.RawMessage(` 1`)}, []inner{{Count: 1}, {}}, make(chan int), []any{func() {}}, struct{ C chan int }{}, math.Inf(1), []float64{math.NaN()}} {
		writesSame(t, v)
	}
}

// Strings are walked in words of eight bytes: each special byte at each place of a word, and in the word behind it, is found.
func TestSpecialBytesAtEachPlace(t *testing.T) {
	for _, special := range []string{`"`, `\`, "\x00", "\x1f", "\n", " ", "!", "#", "\x7f", "\x80", "ä", "\xff", "\u2028", "😀"} {
		for length := range 20 {
			for at := range length + 1 {
				text := strings.Repeat("a", at) + special + strings.Repeat("z", length-at)
				writesSame(t, text)
				same[string](t, []byte(`"`+text+`"`))
				same[json.RawMessage](t, []byte(`["`+text+`"]`))
				same[string](t, []byte(`"`+text))
				same[string](t, []byte(`"\n`+text+`"`))
			}
		}
	}
}
