package welcome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/thinkd/thinkd/rpc/door"
)

// A Person sits at the terminal.
type Person struct {
	Out io.Writer

	// Line reads a line. io.EOF says that the person leaves.
	Line func(context.Context) (string, error)

	// Store asks for a provider's key and stores it; LogIn logs in. They print the result.
	Store, LogIn func(ctx context.Context, provider string) error
}

// Greet prints what the daemon can use. If that is nothing, it offers to store a key, until a provider can be called or until the
// person wants the simulator. It reports whether the chat is to begin. Its errors are those of the daemon and of reading, and that of
// ctx.
func Greet(ctx context.Context, version string, daemon *door.Link, p Person) (bool, error) {
	fmt.Fprintln(p.Out, "thinkd "+version)
	for {
		f, err := ask(daemon)
		if err != nil {
			return false, err
		}
		fmt.Fprint(p.Out, report(f))
		if len(f.usable) > 0 {
			return true, nil
		}
		if start, err := offer(ctx, f, p); start || err != nil {
			if errors.Is(err, io.EOF) {
				fmt.Fprintln(p.Out)
				return false, nil
			}
			return start, err
		}
	}
}

// ErrNothingAdded is the error of [Add] if the person leaves without a key or a login.
var ErrNothingAdded = errors.New("no key was stored and no login made")

// Add prints what the daemon can use, and offers to store a key or to log in, until that succeeds. Its errors are ErrNothingAdded, and
// those of Greet.
func Add(ctx context.Context, daemon *door.Link, p Person) error {
	f, err := ask(daemon)
	if err != nil {
		return err
	}
	fmt.Fprint(p.Out, inventory(f)+"\nType the name of a provider to enter its key, or to log in. Enter leaves.\n"+f.names())
	leaves, err := offer(ctx, f, p)
	if leaves || errors.Is(err, io.EOF) {
		return ErrNothingAdded
	}
	return err
}

// ask asks the daemon for its providers and models.
func ask(daemon *door.Link) (found, error) {
	var auth struct{ Providers []account }
	if err := daemon.Call("auth/status", struct{}{}, &auth); err != nil {
		return found{}, err
	}
	var list struct{ Models []model }
	if err := daemon.Call("models/list", struct{}{}, &list); err != nil {
		return found{}, err
	}
	return look(auth.Providers, list.Models), nil
}

// inventory lists what was found.
func inventory(f found) string {
	text := ""
	if len(f.usable) > 0 {
		text += "\nthinkd can use:\n" + table(f.usable)
	}
	if len(f.unusable) > 0 {
		text += "\nthinkd cannot use:\n" + table(f.unusable)
	}
	return text
}

// report says what was found, and what one can do if that is nothing.
func report(f found) string {
	var b strings.Builder
	b.WriteString(inventory(f))
	if len(f.usable) > 0 {
		return b.String() + "\n"
	}
	if len(f.unusable) == 0 {
		b.WriteString("\nthinkd found no API key, no login and no local model server.\n")
	}
	b.WriteString(`
Without a model, the built-in simulator answers. Its sentences mean nothing,
but all else works. For a real model, type the name of a provider whose key
you have:
` + f.names() + `Enter starts the chat with the simulator, Ctrl+D leaves.
`)
	return b.String()
}

// offer asks for a provider, and for its key or login. start: the person typed nothing. After a failure the person may choose
// again.
func offer(ctx context.Context, f found, p Person) (start bool, err error) {
	for {
		fmt.Fprint(p.Out, "provider: ")
		name, err := p.Line(ctx)
		if err != nil {
			return false, err
		}
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			return true, nil
		}
		a, ok := f.offered(name)
		if !ok {
			fmt.Fprintf(p.Out, "There is no provider %q in the list.\n", name)
			continue
		}
		add := p.Store
		if a.Login {
			add = p.LogIn
		}
		if err = add(ctx, a.Provider); err == nil {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, err
		}
		fmt.Fprintf(p.Out, "%v. Choose again.\n", err)
	}
}
