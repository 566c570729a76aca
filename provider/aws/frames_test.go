package aws_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/sse"
)

// read lists the events of a stream and its error.
func read(f *exchange.Framing, r io.Reader) (list []string, err error) {
	for ev, e := range f.Read(r) {
		if e != nil {
			return list, e
		}
		if ev.Kind == sse.Message {
			list = append(list, ev.Name+string(ev.Data))
		}
	}
	return list, nil
}

func TestFrames(t *testing.T) {
	var stream []byte
	var ends []int
	for _, text := range []string{`{"role":"assistant"}`, `{"delta":{"text":"` + strings.Repeat("long ", 40_000) + `"}}`, `{}`} {
		stream = simaws.AppendEvent(stream, "e", []byte(text))
		ends = append(ends, len(stream))
	}
	whole, err := read(aws.EventStream(), bytes.NewReader(stream))
	if err != nil || len(whole) != 3 || whole[0] != `e{"role":"assistant"}` {
		t.Fatalf("%d events, error %v", len(whole), err)
	}
	if slow, err := read(aws.EventStream(), iotest.OneByteReader(bytes.NewReader(stream))); fmt.Sprint(slow) != fmt.Sprint(whole) || err != nil {
		t.Errorf("byte by byte: %d events, error %v", len(slow), err)
	}
	for n := range 200 {
		cut := n * len(stream) / 200
		got, err := read(aws.EventStream(), bytes.NewReader(stream[:cut]))
		complete := 0
		for _, end := range ends {
			if end <= cut {
				complete++
			}
		}
		if len(got) != complete || (cut != 0 && cut != ends[0] && cut != ends[1]) != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %d events, error %v", cut, len(got), err)
		}
	}
}

// TestDamagedFrames changes each byte of a frame. The sums notice all of them.
func TestDamagedFrames(t *testing.T) {
	stream := simaws.AppendEvent(nil, "contentBlockDelta", []byte(`{"delta":{"text":"hello"}}`))
	for i := range stream {
		damaged := bytes.Clone(stream)
		damaged[i] ^= 0x10
		if got, err := read(aws.EventStream(), bytes.NewReader(damaged)); err == nil || len(got) > 0 {
			t.Errorf("byte %d changed: events %q, error %v", i, got, err)
		}
	}
}

func TestFrameLengths(t *testing.T) {
	for _, tt := range []struct{ length, headers uint32 }{{0, 0}, {15, 0}, {16, 1}, {1 << 31, 0}, {17 << 20, 0}, {1 << 20, 129 << 10}} {
		prelude := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, tt.length), tt.headers)
		_, err := read(aws.EventStream(), io.MultiReader(bytes.NewReader(prelude), bytes.NewReader(make([]byte, 64))))
		if err == nil || !strings.Contains(err.Error(), "has the length") {
			t.Errorf("a frame of %d bytes with headers of %d: error %v", tt.length, tt.headers, err)
		}
	}
}

func TestExceptions(t *testing.T) {
	for kind, status := range map[string]int{"throttlingException": 429, "validationException": 400, "modelStreamErrorException": 424, "internalServerException": 500,
		"serviceUnavailableException": 503, "modelTimeoutException": 408, "laterException": 500} {
		stream := simaws.AppendEvent(nil, "messageStart", []byte(`{"role":"assistant"}`))
		got, err := read(aws.EventStream(), bytes.NewReader(simaws.AppendException(stream, kind, "say \"when\"")))
		failed, ok := errors.AsType[*exchange.Failed](err)
		if !ok || failed.Status != status || len(got) != 1 || !strings.Contains(string(failed.Body), `"message":"say \"when\""`) {
			t.Errorf("%s: %v after %d events", kind, err, len(got))
		}
	}
}

func TestChunks(t *testing.T) {
	var stream []byte
	for _, text := range []string{`{"type":"message_start"}`, `{"type":"message_stop"}`} {
		stream = simaws.AppendEvent(stream, "chunk", fmt.Appendf(nil, `{"bytes":%q,"p":"abc"}`, base64.StdEncoding.EncodeToString([]byte(text))))
		stream = simaws.AppendEvent(stream, "weather", []byte(`{"sky":"blue"}`))
	}
	if got, err := read(aws.Chunks(), bytes.NewReader(stream)); err != nil || strings.Join(got, " ") != `{"type":"message_start"} {"type":"message_stop"}` {
		t.Errorf("%q, error %v", got, err)
	}
	if _, err := read(aws.Chunks(), bytes.NewReader(simaws.AppendEvent(nil, "chunk", []byte(`{"bytes":"%%"}`)))); err == nil {
		t.Error("a chunk that is not base64 was taken")
	}
}

// FuzzFrames reads any bytes: it ends, and what it yields passed the checksums.
func FuzzFrames(f *testing.F) {
	stream := simaws.AppendEvent(nil, "chunk", []byte(`{"bytes":"e30="}`))
	f.Add(simaws.AppendException(stream, "throttlingException", "wait"))
	f.Add(stream[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		events, _ := read(aws.EventStream(), bytes.NewReader(data))
		if len(events)*16 > len(data) {
			t.Errorf("%d events of %d bytes", len(events), len(data))
		}
		if chunks, _ := read(aws.Chunks(), bytes.NewReader(data)); len(chunks) > len(events) {
			t.Errorf("%d chunks in %d events", len(chunks), len(events))
		}
	})
}
