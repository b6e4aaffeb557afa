package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/nats-io/nats.go"

	"weir/lab/sample"
)

const (
	// requestsQueued is how many requests wait for an agent; the coordinator awaits each answer.
	requestsQueued = 16
	// maxStartDelay is the longest wait until the start of a window.
	maxStartDelay = time.Minute
)

// ServeConfig is how an agent serves.
type ServeConfig struct {
	URL         string   // of the coordinator: tls://HOST:PORT
	Fingerprint string   // of its certificate, as Coordinator.Fingerprint returns it
	Token       string   // as Coordinator.Token returns it
	Name        string   // unique among the agents: 1 to 64 letters, digits, - and _
	Version     string   // of weir
	Load        []string // the command line of weir load, without arguments

	// for an agent beside a server: the name of the subject, and its processes; such an agent
	// offers no loads
	Beside string
	Group  *sample.Group

	Connected func() // called once the coordinator has accepted the agent; may be nil

	connection string // name of the connection; set by Serve

	// what the clocks of the agent and its generator are ahead of this machine's, for tests of
	// clocks that are wrong; nil: 0
	ClockShift func() time.Duration
}

// agentServer is an agent. The goroutine of Serve owns it. A second one, of the connection, answers
// clock probes, so that no request delays them.
type agentServer struct {
	config ServeConfig
	conn   *nats.Conn
	job    *job             // nil: no load
	watch  *watch           // nil: no recording
	start  <-chan time.Time // when the window starts; nil: no start is due
	window time.Duration    // its length
}

// Serve connects to a coordinator and offers loads until the coordinator closes, which is no error,
// the connection is lost or ctx ends. A load that runs then is killed.
func Serve(ctx context.Context, config ServeConfig) error {
	if err := serve(ctx, config); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

func serve(ctx context.Context, config ServeConfig) error {
	if err := config.check(); err != nil {
		return err
	}
	// The system kills a load when the thread that started it ends. This thread lasts as long as
	// the agent.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	config.connection = config.Name + " " + newSecret()[:16]
	closed := make(chan struct{}) // closed by the connection, when it ends
	conn, err := connect(ctx, &config, func() { close(closed) })
	if err != nil {
		return err
	}
	defer func() {
		conn.Close()
		<-closed
	}()
	a := &agentServer{config: config, conn: conn}
	defer a.end() //nolint:errcheck // no caller receives it
	requests := make(chan *nats.Msg, requestsQueued)
	if err := a.subscribe(requests); err != nil {
		return err
	}
	if err := a.announce(ctx); err != nil {
		return err
	}
	return a.loop(ctx, requests, closed)
}

func (c *ServeConfig) check() error {
	if c.ClockShift == nil {
		c.ClockShift = func() time.Duration { return 0 }
	}
	switch {
	case c.Token == "":
		return errors.New("the token is missing")
	case len(c.Load) == 0 && c.Group == nil:
		return errors.New("the command line of the load generator is missing")
	case (c.Beside == "") != (c.Group == nil):
		return errors.New("an agent beside a server needs the name of the subject and its processes")
	}
	return errors.Join(checkURL(c.URL), checkName(c.Name))
}

// now reads the agent's clock.
func (c *ServeConfig) now() int64 { return now() + int64(c.ClockShift()) }

// subscribe makes requests arrive in the channel, and answers clock probes.
func (a *agentServer) subscribe(requests chan *nats.Msg) error {
	_, err := a.conn.ChanSubscribe(requestSubject(a.config.Name), requests)
	if err == nil {
		_, err = a.conn.Subscribe(clockSubject(a.config.Name), func(m *nats.Msg) {
			received := a.config.now()
			m.Respond(encode(clockReply{ReceivedNS: received, SentNS: max(received, a.config.now())})) //nolint:errcheck // a lost answer is noticed
		})
	}
	return errors.Join(err, a.conn.FlushTimeout(requestTimeout))
}

func (a *agentServer) hello() hello {
	return hello{Name: a.config.Name, Version: a.config.Version, Cores: runtime.NumCPU(), Machine: machineID(), PID: os.Getpid(), Beside: a.config.Beside, Connection: a.config.connection}
}

// announce tells the coordinator about this agent.
func (a *agentServer) announce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	m, err := a.conn.RequestWithContext(ctx, announceSubject, encode(a.hello()))
	if err != nil {
		return fmt.Errorf("the coordinator does not answer: %w", err)
	}
	answer, err := parse[reply](m.Data)
	if err == nil && answer.Error != "" {
		err = fmt.Errorf("the coordinator refuses this agent: %s", answer.Error)
	}
	if err == nil && a.config.Connected != nil {
		a.config.Connected()
	}
	return err
}

func (a *agentServer) loop(ctx context.Context, requests <-chan *nats.Msg, closed <-chan struct{}) error {
	for {
		select {
		case m := <-requests:
			r, err := parse[request](m.Data)
			var usage *Usage
			if err == nil {
				usage, err = a.execute(r)
			}
			m.Respond(encode(reply{Error: textOf(err), Usage: usage})) //nolint:errcheck // a lost answer is noticed
			if err == nil && r.Do == doLeave {
				a.conn.FlushTimeout(leaveTimeout) //nolint:errcheck // the coordinator does not wait for longer
				return nil
			}
		case <-a.start:
			a.start = nil
			a.job.command("measure " + a.window.String()) //nolint:errcheck // the generator's exit is reported
		case <-closed:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return errors.New("the connection to the coordinator was lost: start this agent again once the coordinator runs")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// execute executes a request.
func (a *agentServer) execute(r request) (*Usage, error) {
	switch {
	case r.Do == doEnd || r.Do == doLeave:
		return nil, a.end()
	case a.config.Group != nil:
		return a.besideServer(r)
	case r.Do == doStart && a.job != nil:
		return nil, errors.New("another load is running")
	case r.Do == doStart:
		var err error
		a.job, err = startJob(a.config.Load, r, a.publish)
		return nil, err
	case a.job == nil || a.job.session != r.Session:
		return nil, fmt.Errorf("there is no load to %s", r.Do)
	case r.Do == doMeasure:
		return nil, a.measure(r)
	case r.Do == doStop:
		a.start = nil
		return nil, a.job.stop()
	}
	return nil, fmt.Errorf("this agent offers loads, and cannot %s", r.Do)
}

// measure waits, without blocking, for the start of the window.
func (a *agentServer) measure(r request) error {
	wait := time.Duration(r.AtNS - a.config.now())
	switch {
	case wait <= 0:
		return fmt.Errorf("the command to measure was late: it arrived %v after the agreed time", -wait)
	case wait > maxStartDelay:
		return fmt.Errorf("the window would start in %v, the limit is %v", wait, maxStartDelay)
	case a.job.measured:
		return errors.New("a load has only one window")
	}
	a.job.measured, a.window, a.start = true, time.Duration(r.MeasureNS), time.After(wait)
	return nil
}

// end kills the load, or ends the recording, if there is one.
func (a *agentServer) end() error {
	a.start = nil
	if a.watch != nil {
		a.watch.stop()
		a.watch = nil
	}
	if a.job == nil {
		return nil
	}
	j := a.job
	a.job = nil
	return j.kill()
}

// publish sends an event of a load to the coordinator. Its times are moved to the agent's clock.
func (a *agentServer) publish(m eventMessage) {
	if m.Event.AtNS != 0 {
		m.Event.AtNS += int64(a.config.ClockShift())
	}
	a.conn.Publish(eventSubject(a.config.Name), encode(m)) //nolint:errcheck // the number of the next event shows the gap
}
