package httpd

// Pages are the web pages of elsewhere that may call us: by path, the origins
// that browsers name for them, like "https://app.example"; "*" is every page.
// They may read the answer (CORS), and send no cookies.
type Pages map[string][]string
