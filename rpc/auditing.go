package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

type auditParams struct {
	From   string    `json:"from,omitempty"` // YYYY-MM-DD
	To     string    `json:"to,omitempty"`   // included
	User   string    `json:"user,omitempty"`
	Tenant string    `json:"tenant,omitempty"`
	Named  string    `json:"named_session_id,omitempty"` // of any user, also one that was deleted: no router looks for it
	Cursor string    `json:"cursor,omitempty"`
	Limit  pageLimit `json:"limit,omitzero"`
}

// auditRecord is a record under a name that no language of the clients has for something else.
type auditRecord audit.Record

type auditResult struct {
	Records []auditRecord `json:"records"`
	Damaged int           `json:"damaged,omitempty"`
	Next    string        `json:"next_cursor,omitempty"`
}

// readAudit shows the operator all records, and a user with the right those of their tenant's users.
func readAudit(_ context.Context, c *client, p auditParams) (func(context.Context) (auditResult, error), error) {
	if c.server.config.Audited == nil {
		return nil, conn.InvalidRequest("this daemon records no requests: its config has no [auth]")
	}
	limit, err := p.Limit.page()
	if err != nil {
		return nil, err
	}
	for field, day := range map[string]string{"from": p.From, "to": p.To} {
		if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil {
			return nil, conn.InvalidParams(field, "must be a day as YYYY-MM-DD")
		}
	}
	q := audit.Query{From: session.Day(p.From), To: session.Day(p.To), User: p.User, Tenant: p.Tenant, Session: p.Named}
	if !c.OwnsMachine() {
		q.Within = &c.Principal.Owner.Tenant
	}
	var after audit.Place
	if p.Cursor != "" {
		text, err := c.Sessions().OpenCursor(p.Cursor)
		if err == nil {
			after, err = audit.ParsePlace(text)
		}
		if err != nil {
			return nil, conn.InvalidParams("cursor", "is none that audit/read returned to this user since the daemon started")
		}
	}
	return func(ctx context.Context) (auditResult, error) { return c.auditPage(ctx, q, after, limit) }, nil
}

// auditPage reads a page that fits.
func (c *client) auditPage(ctx context.Context, q audit.Query, after audit.Place, limit int) (auditResult, error) {
	for {
		page, err := c.server.config.Audited(ctx, q, after, limit)
		if err != nil {
			return auditResult{}, fmt.Errorf("the audit: %w", err)
		}
		text, err := json.Marshal(page.Records)
		if err != nil {
			return auditResult{}, err
		}
		if len(text) > c.server.out.Room() && len(page.Records) > 1 {
			limit = len(page.Records) / 2
			continue
		}
		r := auditResult{Records: []auditRecord{}, Damaged: page.Damaged}
		for _, one := range page.Records {
			r.Records = append(r.Records, auditRecord(one))
		}
		if page.Next != nil {
			r.Next = c.Sessions().SealCursor(page.Next.String())
		}
		return r, nil
	}
}
