-- Between the two runs of put.lua the values of a shelf are called incoming, and have the mark '', which says how else. A server can refuse the second run after
-- the first: the sync of its disk failed meanwhile, or a client sent the two without a transaction around them. Then those values
-- seem to be gone. So whoever asks for values gives them their name back first, counts that in meta, for those who read
-- with plain commands over a longer time, and has its call repeated.
-- Needs: meta, incoming, values.

local mark = redis.call('HGET', incoming, '')
if mark then
  local key = values .. string.match(mark, '^%S*')
  if redis.call('RENAMENX', incoming, key) == 0 then
    return redis.error_reply('TORN values and incoming are both there, and incoming has what values should have')
  end
  redis.call('HDEL', key, '')
  redis.call('HINCRBY', meta, 'torn', 1)
  return redis.error_reply('TRYAGAIN a transaction was torn apart, and values had the name incoming')
end
