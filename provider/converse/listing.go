package converse

import (
	"context"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
)

// Models is the list of the account: see [aws.Models].
func (a *API) Models(ctx context.Context) ([]provider.Model, error) {
	return aws.Models(ctx, &a.caller, a.header())
}
