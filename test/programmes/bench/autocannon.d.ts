// Types for the part of autocannon that the bench uses; the package ships none.
declare module 'autocannon' {
  namespace autocannon {
    interface Request {
      method?: 'GET' | 'POST';
      path?: string;
      headers?: Record<string, string>;
      body?: string;
      setupRequest?: (request: Request) => Request;
    }
    interface Options {
      url: string;
      connections: number;
      duration: number;
      timeout: number;
      overallRate?: number;
      requests: Request[];
    }
    interface Result {
      duration: number;
      latency: { p50: number; p99: number };
      errors: number;
      timeouts: number;
      non2xx: number;
      statusCodeStats?: Record<string, { count?: number }>;
    }
  }
  function autocannon(options: autocannon.Options): Promise<autocannon.Result>;
  export default autocannon;
}
