package hook

import (
	"net/http"
	"strings"
)

// describeStripe reads an Event object (docs.stripe.com/api/events/object). Its
// id stays the same when Stripe tries again.
func describeStripe(_ http.Header, body []byte) description {
	o := parseObject(body)
	event, id := o.text("type"), o.text("id")
	text := digest(o, nil, event, "")
	if o.text("data.object.object") != "" {
		said := object{"event": map[string]any(o), "amount": stripeAmount(o)}
		text = said.fill("{event.type}: {event.data.object.object}[ {event.data.object.id}][, {amount}]" +
			"[, {event.data.object.status}][, customer {event.data.object.customer}]")
		if live, ok := o["livemode"].(bool); ok && !live {
			text += " (test mode)"
		}
	}
	return description{event: event, delivery: id, text: text}
}

// stripeAmounts are the fields that may have what an event is about, the most
// telling one first.
var stripeAmounts = []string{"amount_refunded", "amount_paid", "amount_due", "amount_total", "amount_received", "amount"}

// stripeAmount is the amount that an event is about, as people write it; empty:
// it is about none.
func stripeAmount(o object) string {
	currency := o.text("data.object.currency")
	for _, field := range stripeAmounts {
		amount := o.text("data.object." + field)
		if currency != "" && strings.Trim(amount, "0") != "" && strings.Trim(amount, "0123456789") == "" {
			return decimal(amount, stripeDigits(currency)) + " " + strings.ToUpper(currency)
		}
	}
	return ""
}

// stripeDigits is how many digits of an amount stand after the point
// (docs.stripe.com/currencies, Minor units in API amounts).
func stripeDigits(currency string) int {
	switch strings.ToLower(currency) {
	case "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf":
		return 0
	case "bhd", "jod", "kwd", "omr", "tnd":
		return 3
	default:
		return 2
	}
}

// decimal puts a point before the last n digits of amount.
func decimal(amount string, n int) string {
	if n == 0 {
		return amount
	}
	if len(amount) <= n {
		amount = strings.Repeat("0", n+1-len(amount)) + amount
	}
	return amount[:len(amount)-n] + "." + amount[len(amount)-n:]
}
