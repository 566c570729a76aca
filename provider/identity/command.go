package identity

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

// commandTime is how long the program az may take. It starts an interpreter, and may ask a server.
const commandTime = 30 * time.Second

// command runs az, which keeps the login of a person (azure-cli: account get-access-token).
func command(ctx context.Context, providerID, program, tenant, service string) (provider.Secret, time.Time, error) {
	fail := func(format string, values ...any) (provider.Secret, time.Time, error) {
		if ctx.Err() != nil {
			return provider.Secret{}, time.Time{}, context.Cause(ctx)
		}
		return provider.Secret{}, time.Time{}, unusable(providerID, format, values...)
	}
	limited, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	args := []string{"account", "get-access-token", "--output", "json", "--resource", service}
	if tenant != "" {
		args = append(args, "--tenant", tenant)
	}
	cmd := exec.CommandContext(limited, program, args...)
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if _, ran := errors.AsType[*exec.ExitError](err); !ran {
			return fail("no token: az cannot be run: %v", err)
		}
		return fail("no token: az says: %s", refusal.Clean(said.String(), 500))
	}
	token, expires := gjson.GetBytes(out.Bytes(), "accessToken").Str, gjson.GetBytes(out.Bytes(), "expires_on").Int()
	if token == "" {
		return fail("no token: az gave none")
	}
	end := time.Now().Add(5 * time.Minute) // versions before 2.54 say the end in local time only
	if expires > 0 {
		end = endOf(time.Now(), 0, expires)
	}
	return provider.NewSecret(token), end, nil
}
