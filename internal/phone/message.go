package phone

import "aldis/internal/hub"

// prepare finds out whether w was here before, and makes a message of it.
func (p *Phone) prepare(w post) (ticket, hub.Message, []picture, error) {
	t := p.ticket(w)
	if t.Done {
		return t, hub.Message{}, nil, nil
	}
	pics, err := p.pictures.save(t.Key, w.Pictures)
	if err != nil {
		return t, hub.Message{}, nil, err
	}
	p.mu.Lock()
	m, err := p.state.message(w, t.Key)
	p.mu.Unlock()
	m.ID, m.Time = p.NewID(), p.Now()
	m.Attachments = p.pictures.attachments(pics)
	return t, m, pics, err
}

// ticket returns the ticket of w: the one from when it came first, or a new one.
func (p *Phone) ticket(w post) ticket {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t, ok := p.state.ticket(w.Chat, w.ID); ok {
		return t
	}
	return ticket{Post: w.ID, Chat: w.Chat, Key: p.state.nextKey(p.Now())}
}

// message says in the hub's words what w says, without ID, Time and pictures.
func (s *state) message(w post, key string) (hub.Message, error) {
	m := hub.Message{
		Via: hub.ViaPlatform, Kind: w.Kind, Text: w.Text,
		Ref: ref(w.Chat, key), From: people[w.Chat],
		Dedup:   string(ID) + "|" + string(w.Chat) + "|" + w.ID,
		Receipt: w.Kind == hub.Text,
	}
	var err error
	switch w.Kind {
	case hub.Reaction:
		m.Removed = w.Removed
		m.Quote, err = s.quote(w.Chat, w.Quote)
		if err == nil {
			m.Quote.Text = "" // a reaction carries none
		}
	case hub.Edit, hub.Deletion:
		err = s.revise(&m, w.Target)
	default:
		if w.Quote != "" {
			m.Quote, err = s.quote(w.Chat, w.Quote)
		}
	}
	m.Addressed = m.Quote != nil && m.Quote.Ours
	return m, err
}

func ref(chat hub.ChatID, key string) hub.Ref { return hub.Ref{Platform: ID, Chat: chat, Key: key} }

func (s *state) quote(chat hub.ChatID, key string) (*hub.Quote, error) {
	b, ok := s.find(chat, key)
	if !ok {
		return nil, hub.Errorf(hub.NotFound, "message %.40s is not on this phone any more", key)
	}
	q := &hub.Quote{Ref: ref(chat, key), Ours: !b.Mine, From: us, Text: hub.Clip(b.Text, hub.PreviewBytes)}
	if b.Mine {
		q.From = people[chat].ID
	}
	return q, nil
}

// revise makes m an edit or a deletion of the bubble key. An edit answers what
// the first text did.
func (s *state) revise(m *hub.Message, key string) error {
	b, err := s.live(m.Ref.Chat, key)
	if err != nil {
		return err
	}
	if !b.Mine {
		return hub.Errorf(hub.Denied, "only what this phone wrote can be edited or deleted on it")
	}
	m.Target = ref(m.Ref.Chat, key)
	if m.Kind == hub.Deletion {
		m.Text = ""
		return nil
	}
	if b.Quote != nil {
		m.Quote, err = s.quote(m.Ref.Chat, b.Quote.Key)
		if err != nil { // what it answers has left the screen; the hub knows what it decided then
			m.Quote = nil
		}
	}
	return nil
}

// begin gives t out, with the bubble of m if it makes one.
func (s *state) begin(t ticket, m hub.Message, pics []picture) *line {
	if _, again := s.ticket(t.Chat, t.Post); again {
		return nil
	}
	l := &line{Ticket: &t}
	if m.Kind == hub.Text {
		b := s.said(m)
		b.Post, b.Pictures = t.Post, pics
		l.Bubble = &b
	}
	return l
}

// finish notes that the hub has m, and what it said of it. What m was about
// may have left the screen meanwhile: then there is nothing to show.
func (s *state) finish(t ticket, m hub.Message, r hub.Receipt) *line {
	t.Done = true
	l := &line{Ticket: &t}
	if m.Kind != hub.Text {
		if b, err := s.after(m); err == nil {
			l.Bubble = &b
		}
		return l
	}
	if b, ok := s.find(m.Ref.Chat, m.Ref.Key); ok {
		b.Ticks, b.Dropped = max(b.Ticks, recorded), r.Dropped
		l.Bubble = &b
		if r.Dropped == "" {
			l.Asked = s.answers(m)
		}
	}
	return l
}

// admits returns an error of kind Invalid or Limited if r is not to be kept.
func (s *state) admits(r received) error {
	if _, err := hub.ParseAgentID(string(r.Agent)); err != nil {
		return err
	}
	size := len(r.Content)
	for k, v := range r.Meta {
		size += len(k) + len(v)
	}
	_, known := s.received[r.Agent]
	switch {
	case r.ID == "" || len(r.ID) > 64:
		return hub.Errorf(hub.Invalid, "id is that of the event, from its meta")
	case size > maxText || len(r.Meta) > hub.MetaKeys:
		return hub.Errorf(hub.Invalid, "no event has more than %d keys or %d bytes", hub.MetaKeys, maxText)
	case !known && len(s.received) >= maxReports:
		return hub.Errorf(hub.Limited, "%d agents report already; no more are shown", maxReports)
	}
	return nil
}

// heard notes a report. The same one may come twice, since whoever posts it
// tries again when the hub was killed meanwhile.
func (s *state) heard(r received) (*line, error) {
	if err := s.admits(r); err != nil {
		return nil, err
	}
	r.Repeats = 0
	for _, x := range s.received[r.Agent] {
		switch {
		case x.ID != r.ID:
		case x.Seq == r.Seq:
			return nil, nil
		default:
			x.Seq, x.Repeats = r.Seq, x.Repeats+1
			return &line{change: change{Received: &x}}, nil
		}
	}
	return &line{change: change{Received: &r}}, nil
}
