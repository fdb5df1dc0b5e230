/** Prometheus' client, for all services. The only place that names it. */
export { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
