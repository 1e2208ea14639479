-- What names.lua is for scripts that may not write: while values has another name, they say so.
-- Needs: incoming.

if redis.call('HEXISTS', incoming, '') == 1 then
  return redis.error_reply('TRYAGAIN a transaction was torn apart, and values has the name incoming')
end
