// Package flakelease makes ids in the program itself, on a node that it leases from a coordinator of flakeid.
// A file to copy; it needs pgx alone. doc/clients/lease_programs.md says what it promises.
//
//	ids := &flakelease.FlakeIDs{Holder: "shop", Layout: "snowflake"}
//	id, err := ids.Next(ctx) // an int64, in any goroutine
//	ids.Close()
package flakelease

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgconn" // of pgx 4; pgx 5 has it as its package pgconn
)

// In microseconds, as all times here whose names end in Us. Ids may lie 5 s ahead of the clock, as those of a server.
const second, aheadUs = 1000000, 5000000

// Layout is how 64 bits are cut.
type Layout struct {
	timeShift, timeBits, sequenceShift, sequenceBits, nodeBits int
	unitUs, epochUs                                            int64
	parts                                                      [][3]int // of the node, the lowest first: shift, from, bits
	encrypt                                                    func(uint64) uint64
}

// MustLayout reads what column layout_text of flakeid.describe() has, and panics where it cannot.
func MustLayout(text, secret string) *Layout {
	l := &Layout{encrypt: func(id uint64) uint64 { return id }}
	cut, options, _ := strings.Cut(text, " epoch=")
	epoch, cipher, _ := strings.Cut(options, " ")
	fields, shift := strings.Fields(cut), 0
	for i := len(fields) - 1; i >= 0; i-- {
		field := strings.Split(fields[i], ":")
		bits := int(number(field[1]))
		if i == 0 && cipher == "" && shift+bits == 64 {
			bits-- // a plain layout of 64 bits ends before the sign bit
		}
		switch field[0] {
		case "time":
			l.timeShift, l.timeBits, l.epochUs = shift, bits, must(time.Parse(time.RFC3339, epoch)).UnixMicro()
			l.unitUs = must(time.ParseDuration(field[2])).Microseconds()
		case "sequence":
			l.sequenceShift, l.sequenceBits = shift, bits
		case "back": // how often a clock was set back: a lease needs no such count
		default:
			l.parts = append(l.parts, [3]int{shift, l.nodeBits, bits})
			l.nodeBits += bits
		}
		shift += bits
	}
	if l.unitUs > second || !strings.Contains(" "+cut, " sequence:") {
		panic("ids of the layout can only be read")
	} else if cipher != "" {
		l.encrypt = sparx64(secret)
	}
	return l
}

// The tick of a moment. The shift is -1 where the rest is negative.
func (l *Layout) tickAt(us int64) int64 { return (us-l.epochUs)/l.unitUs + (us-l.epochUs)%l.unitUs>>63 }

// ID is that of a sequence number in a tick of a node.
func (l *Layout) ID(tick, sequence, node int64) int64 {
	id := tick<<l.timeShift | sequence<<l.sequenceShift
	for _, part := range l.parts {
		id |= node >> part[1] & mask(part[2]) << part[0]
	}
	return int64(l.encrypt(uint64(id)))
}

func mask(bits int) int64                      { return int64(uint64(1)<<bits - 1) }
func number[T string | []byte](digits T) int64 { return must(strconv.ParseInt(string(digits), 10, 64)) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// SPARX-64/128 as Randflake uses it: a function that enciphers 64 bits under 32 hexadecimal digits or 16 characters.
func sparx64(secret string) func(uint64) uint64 {
	key := []byte(secret)
	if len(secret) == 32 {
		must(fmt.Sscanf(secret, "%x", &key))
	} else if len(key) != 16 {
		panic("an enciphered layout needs a secret: 32 hexadecimal digits or 16 characters")
	}
	mix := func(x, y uint16) (uint16, uint16) {
		x = bits.RotateLeft16(x, 9) + y
		return x, bits.RotateLeft16(y, 2) ^ x
	}
	var k [8]uint16
	for i := range k {
		k[i] = uint16(key[2*i])<<8 | uint16(key[2*i+1])
	}
	var keys [17][8]uint16
	for c := range keys {
		keys[c] = k
		a, b := mix(k[0], k[1])
		k = [8]uint16{k[6], k[7] + uint16(c) + 1, a, b, k[2] + a, k[3] + b, k[4], k[5]}
	}
	return func(number uint64) uint64 {
		number = bits.ReverseBytes64(number)
		x := [4]uint16{uint16(number >> 48), uint16(number >> 32), uint16(number >> 16), uint16(number)}
		for half := 0; half < 16; half++ { // of eight steps
			i := half % 2 * 2
			for round := 0; round < 6; round += 2 {
				x[i], x[i+1] = mix(x[i]^keys[half][round], x[i+1]^keys[half][round+1])
			}
			if i == 2 {
				spread := bits.RotateLeft16(x[0]^x[1], 8)
				x = [4]uint16{x[2] ^ x[0] ^ spread, x[3] ^ x[1] ^ spread, x[0], x[1]}
			}
		}
		for i, word := range x {
			number = number<<16 | uint64(word^keys[16][i])
		}
		return bits.ReverseBytes64(number)
	}
}

// Ticks up to last of a node are this program's; tick and sequence are those of the last id.
type lease struct {
	token                             string
	node, last, endUs, tick, sequence int64
}

// FlakeIDs is a generator of ids. Each is larger than the one before, and lies in a lease. No wall clock is read here: the time is
// that of the coordinator's answers, carried on by a clock that nobody sets. So a process that was stopped finds that its lease is over.
type FlakeIDs struct {
	Coordinators []string      // connection strings, tried in turn; the default is that of PGHOST and the like
	Realm        string        // default
	Holder       string        // a program
	Layout       string        // a preset or a layout text; snowflake
	Secret       string        // of an enciphered layout
	TTL, Timeout time.Duration // of a lease, a minute; of a question and its answer, 10 s

	begin   sync.Once
	closing context.Context
	close   func()
	kept    sync.WaitGroup
	turn    int      // of which coordinator: the next one's, where one gives no answer
	token   [16]byte // of the next question for a lease: asked again, it gives the same lease
	layout  *Layout
	lock    sync.Mutex // of what follows; the keeper alone writes it, but for the last id of a lease
	lease   *lease
	err     error // of the last question
	clockUs int64 // the time at the moment clockAt
	clockAt time.Time
}

func (g *FlakeIDs) start() {
	host, _ := os.Hostname()
	g.Holder = fmt.Sprintf("%s on %s:%d", or(g.Holder, "a program"), host, os.Getpid())
	g.Realm, g.Layout, g.TTL, g.Timeout = or(g.Realm, "default"), or(g.Layout, "snowflake"), or(g.TTL, time.Minute), or(g.Timeout, 10*time.Second)
	if len(g.Coordinators) == 0 {
		g.Coordinators = []string{""}
	}
	g.err = errors.New("no answer yet")
	g.closing, g.close = context.WithCancel(context.Background())
	g.kept.Add(1)
	must(crypto.Read(g.token[:]))
	go g.keep()
}

func or[T comparable](value, otherwise T) T {
	if none := *new(T); value == none {
		return otherwise
	}
	return value
}

// TryNext returns the next id, or false where there is none at this moment.
func (g *FlakeIDs) TryNext() (int64, bool) {
	g.begin.Do(g.start)
	g.lock.Lock()
	defer g.lock.Unlock()
	if l := g.lease; l != nil {
		tick, sequence := g.layout.tickAt(g.nowUs()), int64(0)
		if tick <= l.tick {
			sequence = (l.sequence + 1) & mask(g.layout.sequenceBits)
			tick = l.tick + (l.sequence+1)>>g.layout.sequenceBits
		}
		if tick <= l.last && tick <= g.layout.tickAt(g.nowUs()+aheadUs) {
			l.tick, l.sequence = tick, sequence
			return g.layout.ID(tick, sequence, l.node), true
		}
	}
	return 0, false
}

// Next returns the next id. Where there is none until ctx ends, or for 10 s, the error says why.
func (g *FlakeIDs) Next(ctx context.Context) (int64, error) {
	for waits := 0; waits < 2000 && ctx.Err() == nil; waits++ {
		if id, ok := g.TryNext(); ok {
			return id, nil
		} else if g.closing.Err() != nil {
			return 0, errors.New("the generator is closed")
		}
		time.Sleep(5 * time.Millisecond)
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.lease == nil {
		return 0, fmt.Errorf("no node is leased: %w", g.err)
	} else if g.nowUs() >= g.lease.endUs {
		return 0, fmt.Errorf("the lease of node %d has ended: %w", g.lease.node, g.err)
	}
	return 0, fmt.Errorf("layout %q allows no more ids at this time", g.Layout)
}

// Close makes no more ids, and gives the node back. Where the coordinator does not hear of it, the lease runs out.
func (g *FlakeIDs) Close() {
	g.begin.Do(g.start)
	g.close()
	g.kept.Wait()
}

func (g *FlakeIDs) nowUs() int64 { return g.clockUs + time.Since(g.clockAt).Microseconds() }

// Renews at a third of the lease, up to a quarter of that earlier, and a second or two after a failure.
func (g *FlakeIDs) keep() {
	for g.closing.Err() == nil {
		pause := time.Duration(float64(g.TTL) / 3 * (1 - rand.Float64()/4))
		if !g.attempt(func() { _ = g.lease != nil && g.renew() || g.acquire() }) {
			pause = time.Second + time.Duration(rand.Int63n(int64(time.Second)))
		}
		wait, cancel := context.WithTimeout(g.closing, pause)
		<-wait.Done()
		cancel()
	}
	g.attempt(g.release)
	g.kept.Done()
}

// Whatever goes wrong, the next question may have an answer.
func (g *FlakeIDs) attempt(do func()) bool {
	defer func() {
		if failed := recover(); failed != nil {
			g.lock.Lock()
			g.err = fmt.Errorf("%v", failed)
			g.lock.Unlock()
		}
	}()
	do()
	return true
}

// Whether the lease goes on. One that the coordinator refuses serves until its end, unless there is another before.
func (g *FlakeIDs) renew() bool {
	row := g.ask("55000", `SELECT extract(epoch FROM r)::int8, (extract(epoch FROM clock_timestamp()) * 1000000)::int8
		FROM flakeid.lease_renew($1, $2::float8 * interval '1 s', to_timestamp($3::float8)) AS r`, g.lease.token, g.TTL.Seconds(), g.lease.endUs/second)
	if row != nil {
		g.lock.Lock()
		defer g.lock.Unlock()
		// A coordinator whose clock is wrong does not carry the time off.
		ownUs, nowUs := g.nowUs(), number(row[1])
		g.set(g.lease, number(row[0]), ownUs+int64(math.Max(-second, math.Min(second, float64(nowUs-ownUs)))))
	}
	return row != nil
}

// Publishes a lease, its end in seconds, and the time.
func (g *FlakeIDs) set(l *lease, end, nowUs int64) {
	l.endUs = end * second
	l.last = int64(math.Min(float64(g.layout.tickAt(l.endUs)-1), float64(mask(g.layout.timeBits))))
	g.lease, g.clockUs, g.clockAt, g.err = l, nowUs, time.Now(), errors.New("no later answer")
}

func (g *FlakeIDs) acquire() bool {
	if g.layout == nil {
		g.layout = MustLayout(string(g.ask("", "SELECT layout_text FROM flakeid.describe($1)", g.Layout)[0]), g.Secret)
	}
	l := &lease{token: fmt.Sprintf("%x", g.token), sequence: mask(g.layout.sequenceBits)}
	row := g.ask("42710", `SELECT node, extract(epoch FROM lease_start)::int8, extract(epoch FROM lease_end)::int8, (extract(epoch FROM clock_timestamp()) * 1000000)::int8
		FROM flakeid.lease_acquire($1, $2, $3::float8 * interval '1 s', max_node => $4, token => $5)`,
		g.Realm, g.Holder, g.TTL.Seconds(), mask(g.layout.nodeBits), l.token)
	if must(crypto.Read(g.token[:])); row == nil {
		panic("the lease that was asked for has ended")
	}
	l.node = number(row[0])
	startUs, nowUs := number(row[1])*second, number(row[3])
	if startUs > nowUs+aheadUs {
		g.ask("", "SELECT flakeid.lease_release($1, to_timestamp(0))", l.token)
		panic(fmt.Sprintf("the lease of node %d begins ahead of the coordinator's clock", l.node))
	}
	g.lock.Lock()
	defer g.lock.Unlock()
	l.tick = int64(math.Max(0, float64(g.layout.tickAt(startUs+g.layout.unitUs-1)))) - 1
	// Ids go on rising from one lease to the next, unless a clock that was wrong is right again.
	if g.lease != nil && g.lease.tick < g.layout.tickAt(nowUs+aheadUs) {
		l.tick = int64(math.Max(float64(l.tick), float64(g.lease.tick)))
	}
	g.set(l, number(row[2]), nowUs)
	return true
}

func (g *FlakeIDs) release() {
	g.lock.Lock()
	l := g.lease
	g.lease = nil
	g.lock.Unlock()
	if l != nil { // a last moment before the start says that it made no id
		g.ask("", "SELECT flakeid.lease_release($1, to_timestamp($2::float8 / 1000000))", l.token, l.tick*g.layout.unitUs+g.layout.epochUs)
	}
}

// Asks one question over a connection of its own. The answer is a row, or nil for a refusal of this code; another one panics, and so
// does no answer in time, or one with a warning: it was cut short while it waited for a standby.
func (g *FlakeIDs) ask(unless, question string, values ...interface{}) [][]byte {
	ctx, cancel := context.WithTimeout(context.Background(), g.Timeout)
	defer cancel()
	where := g.Coordinators[g.turn%len(g.Coordinators)]
	g.turn++
	config := must(pgconn.ParseConfig(where))
	var warning error
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { warning = (*pgconn.PgError)(notice) }
	connection := must(pgconn.ConnectConfig(ctx, config))
	defer connection.Close(ctx)
	warning = nil
	var texts [][]byte
	for _, value := range values {
		texts = append(texts, []byte(fmt.Sprint(value)))
	}
	result := connection.ExecParams(ctx, question, texts, nil, nil, nil).Read()
	must(0, warning)
	var refusal *pgconn.PgError
	refused := errors.As(result.Err, &refusal) && (refusal.Code == "55000" || refusal.Code == "42710")
	if refused || result.Err == nil {
		g.turn-- // this one answers
	}
	if refused && refusal.Code == unless {
		return nil
	}
	must(0, result.Err)
	return result.Rows[0]
}
