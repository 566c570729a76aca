package door

// The methods about users, of the operator's commands.
const (
	MethodUsers         = "daemon/users"
	MethodUserSessions  = "daemon/user_sessions"
	MethodDeleteSession = "daemon/delete_user_session"
	MethodDeleteUser    = "daemon/delete_user"
)

// UserName names a user.
type UserName struct {
	Tenant string `json:"tenant,omitempty"`
	User   string `json:"user"`
}

// String is the name as commands show it.
func (u UserName) String() string {
	if u.Tenant == "" {
		return u.User
	}
	return u.Tenant + "/" + u.User
}

// Users are all users that the daemon knows: those with sessions, tokens, an account of the machine, a quota of their own, or use in this
// month.
type Users struct {
	Day   string `json:"day"`   // of the figures, in UTC
	Month string `json:"month"` // the same
	Users []User `json:"users"`
}

// User is what the operator learns about a user. It has nothing of their conversations.
type User struct {
	UserName
	Sessions  int       `json:"sessions"`
	Updated   int64     `json:"updated,omitempty"` // Unix milliseconds: the last change of a session; absent: there is none
	Tokens    int       `json:"tokens"`            // API tokens, also expired ones
	Accounts  []int     `json:"accounts,omitempty"`
	UsedDay   UserUse   `json:"used_day"`
	UsedMonth UserUse   `json:"used_month"`
	Stored    *int64    `json:"stored_bytes,omitempty"` // by all sessions; absent: no quota bounds them, and nothing is counted
	Quota     UserQuota `json:"quota"`
}

// UserUse is what model calls used.
type UserUse struct {
	Tokens int     `json:"tokens"` // in and out
	Cost   float64 `json:"cost"`   // USD; of calls with a known price
}

// UserQuota bounds what a user uses; a member that is 0 bounds nothing.
type UserQuota struct {
	DayTokens   int     `json:"max_day_tokens,omitempty"`
	MonthTokens int     `json:"max_month_tokens,omitempty"`
	DayCost     float64 `json:"max_day_cost,omitempty"`
	MonthCost   float64 `json:"max_month_cost,omitempty"`
	Calls       int     `json:"max_parallel_calls,omitempty"`
	Requests    int     `json:"max_requests_per_minute,omitempty"`
	Stored      int     `json:"max_stored_bytes,omitempty"`
}

// UserSessionsParams select a page of a user's sessions.
type UserSessionsParams struct {
	UserName
	Cursor string `json:"cursor,omitempty"`
}

// UserSessions is a page, the last changed first.
type UserSessions struct {
	Sessions []UserSession `json:"sessions"`
	Next     string        `json:"next_cursor,omitempty"`
}

// UserSession is a session of a user, without its messages and its title.
type UserSession struct {
	ID      string `json:"session_id"`
	Status  string `json:"status"`
	Created int64  `json:"created"` // Unix milliseconds
	Updated int64  `json:"updated"`
	Model   string `json:"model_id"` // as provider/id
	UserUse
}

// UserSessionParams name a session of a user.
type UserSessionParams struct {
	UserName
	Session string `json:"session_id"`
}

// UserDeletion says what was deleted with a user.
type UserDeletion struct {
	Sessions int      `json:"sessions"`
	Tokens   int      `json:"tokens"`
	Keys     int      `json:"keys"`     // of providers
	Media    int      `json:"media"`    // files of images and documents
	Size     int64    `json:"size"`     // of the store's file before, in bytes
	Left     int64    `json:"left"`     // and after
	NamedIn  []string `json:"named_in"` // files in which the id of a deleted session still occurs, such as logs
}
