package daemon

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestHandOver(t *testing.T) {
	env, pipe := handOver([]string{"HOME=/home/me", "THINKD_TEST_A_KEY=\xff\n=x", "GODEBUG=a=1", "OPENAI_API_KEY_OF_TEST=sk", "TEST_EMPTY=", "LC_ALL=C"})
	if want := []string{"HOME=/home/me", "THINKD_TEST_A_KEY=\xff\n=x", "GODEBUG=a=1", "LC_ALL=C"}; !slices.Equal(env, want) {
		t.Errorf("the environment is %q", env)
	}
	text, err := io.ReadAll(pipe)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENAI_API_KEY_OF_TEST", "") // taken back at the end
	t.Setenv("TEST_EMPTY", "full")
	for cut := range len(text) {
		if err := TakeEnvironment(strings.NewReader(string(text[:cut]))); err == nil && cut < len(text) {
			t.Errorf("%q is taken, which is not whole", text[:cut])
		}
	}
	if err := TakeEnvironment(strings.NewReader(string(text))); err != nil {
		t.Error(err)
	}
	if os.Getenv("OPENAI_API_KEY_OF_TEST") != "sk" || os.Getenv("TEST_EMPTY") != "" {
		t.Errorf("%q, %q", os.Getenv("OPENAI_API_KEY_OF_TEST"), os.Getenv("TEST_EMPTY"))
	}
	_, none := handOver(nil)
	if err := TakeEnvironment(none); err != nil {
		t.Errorf("no variables: %v", err)
	}
}
