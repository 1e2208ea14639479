#!lua
-- Puts a batch of new values, all or none. What the client can count it has counted: the holds that values of the
-- batch have on each other. Left to the server: whether the children that are not in the batch are alive.
--   shared   new values that need an entry in counts, as packed ids, with the entries in shared-counts
--   adopted  children outside the batch that get holds, as packed ids, with how many in adopted-counts
--            of both, those that are held more than once come first, and only theirs are written as numbers
--   handed   children outside the batch that this writer held and now hands over to a parent, packed
--   tops     new values that no value of the batch holds: the writer holds them, packed
--   back     in a content-addressed graph: values of the batch that exist already, as packed ids, with the holds
--            they get in back-counts; the writer holds those in back-tops
--   fresh    in a content-addressed graph: the new values, packed
--   beside   one of the new values, if their bytes stand beside this script; empty: there are none, or they are in bytes
--   change   the root that is to name a value of the batch, and how (see version.lua); empty if none is
--   befores  values outside the batch that values of the batch are put after (see lines.lua), packed, by shelf; then, for each, its
--            children as the client knows them and, where a root changes, those of them that the new value does not have;
--            the lists of the new values are the first ones, in this order. The client counts on the one before for what
--            both have; where that is not so, the answer is ALONE and names those that are of no use.
--   bytes    how many new values are put by this call alone: their ids and bytes come before the lists
-- The detail of OK is GROWS where a table of the store grows about now: then the next calls should be small; shelf, if it is
-- there, says where new values belong from now on.
-- The bytes of many new values do not come in here: they stand beside this script in a transaction, as a plain HSET of
-- incoming between two runs of it. New values of a batch are on one shelf. If the first run agrees, it leaves a mark in the
-- values of that shelf, which says how they are called, and names them incoming for the moment, before it writes anything else;
-- the second run, which has the first two keys alone, finds the mark and gives the name back. Where the first run refused, or a
-- flushed script cache let none run, the HSET made a key that nobody reads: the second run, the next put or an idle step throws
-- it away. No renaming ever takes the place of a key that is there.
-- KEYS  incoming values meta counts edges leases lease-info held changed roots doomed ledger
-- ARGV  lease born sequence edges shared shared-counts adopted adopted-counts handed tops back back-counts back-tops fresh
-- ARGV  beside change befores bytes lists…
-- REPLY status detail version floor freed shelf
local incoming, values, meta, counts, edges, leases, info, held, changed, roots, doomed, ledger = unpack(KEYS)
if #ARGV == 0 then
  local mark = redis.call('HGET', incoming, '')
  if not mark then
    redis.call('UNLINK', incoming)
  elseif redis.call('RENAMENX', incoming, values .. string.match(mark, '^%S*')) == 0 then -- cannot be: the mark stays
    return redis.error_reply('BOTH values and incoming are both there, and incoming has what values should have')
  else
    redis.call('HDEL', values .. string.match(mark, '^%S*'), '')
  end
  return {'OK', ''}
end
--@include shard.lua
--@include shelves.lua
--@include names.lua
--@include lease.lua
--@include lines.lua
--@include alive.lua

local lease, sequence = ARGV[1], tonumber(ARGV[3])
local writer = live_lease(lease)
if not writer or writer.born ~= ARGV[2] then return {'LAPSED', ''} end
if sequence < writer.sequence then return {'STALE', ''} end

if sequence == writer.sequence then
  local replies = {[''] = 'OK', alone = 'ALONE', again = 'AGAIN'}
  return {replies[writer.reply], ARGV[17]}
end

-- Uses the number of a call that is refused: should a repeat of it come later than what the client does instead, it does
-- nothing.
local function use_number(reply)
  writer.sequence, writer.reply = sequence, reply
  write_lease(lease, writer)
end

local function numbers_of(text)
  local numbers, n = {}, 0
  for word in string.gmatch(text, '%d+') do
    n = n + 1
    numbers[n] = tonumber(word)
  end
  return numbers
end

local function members(ids)
  local all = {}
  for i, id in ipairs(ids) do all[i] = lease .. id end
  return all
end

-- First everything is checked. Children outside the batch must be held by somebody.
local set, set_at = {}, nil -- new entries in counts of values that are there, and where all of them are, if that is one place
local outside = ids_of(ARGV[7])
local adopted, times = outside, numbers_of(ARGV[8])
local befores, heirs, earlier = ids_of(ARGV[17]), {}, {}
local stride = ARGV[16] == '' and 1 or 2
local function known_at(number) return 19 + stride * (number - 1) end
local values_from = known_at(#befores + 1)
local lists_from = values_from + 2 * ARGV[18]
if #befores > 0 then
--@include after.lua
end
local change, ending, lists, given_up
if ARGV[16] ~= '' then
--@include version.lua
  change = read_change(ARGV[16])
  if change and change.old ~= '' then
    local more = {}
    for i, id in ipairs(outside) do more[id] = times[i] or 1 end
    ending, lists, given_up = succeed(change.old, more)
    adopted, times = {}, {}
    for id, number in pairs(more) do
      adopted[#adopted + 1] = id
      times[#times + 1] = number
    end
  end
end
if #adopted > 0 then
  local raised, place_or_letter, id = raise(adopted, times)
  if not raised then return {place_or_letter == 'b' and 'BUILDING' or 'GONE', id} end
  set, set_at = raised, place_or_letter
end
local handed = members(ids_of(ARGV[9]))
if #handed > 0 then
  for i, score in ipairs(redis.call('ZMSCORE', held, unpack(handed))) do
    if not score then return {'GONE', string.sub(handed[i], #lease + 1)} end
  end
end

-- Where ids are made from content, a value may exist already, and may even be doomed: it is taken back.
local back = ids_of(ARGV[11])
local back_tops = {}
if #back > 0 or width == 32 then
  local mine = ids_of(ARGV[14])
  local fresh = #mine
  for _, id in ipairs(back) do mine[#mine + 1] = id end
  local numbers, shapes, uncounted = look_up(mine)
  -- Bytes of a value with children that have neither a count nor edges were never put: they came beside a script that did not run.
  local has_children, suspects, is_stray = {}, {}, {}
  for i = lists_from, #ARGV, 2 do has_children[ARGV[i]] = true end
  for i, id in ipairs(mine) do
    if uncounted[i] and numbers[i] and has_children[id] then suspects[#suspects + 1] = id end
  end
  if #suspects > 0 then
    for i, entry in ipairs(get_all(edges, suspects)) do is_stray[suspects[i]] = not entry end
  end
  local wrong = {}
  local more = numbers_of(ARGV[12])
  local already = ids_of(ARGV[13])
  local is_top = {}
  if #already > 0 then
    for i, score in ipairs(redis.call('ZMSCORE', held, unpack(members(already)))) do
      if not score then is_top[already[i]] = true end
    end
  end
  for i, id in ipairs(mine) do
    local n, shape = numbers[i], shapes[i]
    if is_stray[id] then n, shape = nil, nil end
    if shape and not n then
      if shape == 'b' then return {'BUILDING', id} end
      use_number('again')
      return {'DRAINING', id}
    end
    if (n ~= nil) ~= (i > fresh) then
      wrong[#wrong + 1] = id
    elseif n then
      local holds_now = n + more[i - fresh]
      if is_top[id] then
        holds_now = holds_now + 1
        back_tops[#back_tops + 1] = id
      end
      if holds_now == 0 then return {'GONE', id} end
      set[#set + 1] = id
      set[#set + 1] = digits(holds_now) .. shape
    end
  end
  if #wrong > 0 then
    use_number('again')
    return {'EXISTS', table.concat(wrong)}
  end
end

-- The name first: where that is refused, nothing is written.
if ARGV[15] ~= '' then
  -- Where MULTI was allowed once and is not any more, this run stands alone, and the bytes would come too late.
  if not redis.acl_check_cmd('MULTI') then return redis.error_reply("NOPERM this user may not run the 'multi' command") end
  redis.call('UNLINK', incoming) -- what a client left that died when its script was unknown
  local key = key_of(values, ARGV[15])
  redis.call('HSET', key, '', string.sub(key, #values + 1) .. WIDE)
  local renamed = redis.pcall('RENAMENX', key, incoming)
  if renamed ~= 1 then
    redis.call('HDEL', key, '')
    return renamed -- an error: the user may not rename
  end
  call_it(values, ARGV[15], incoming) -- until the second run
end

-- Now everything is written.
local entries = numbers_of(ARGV[6])
local shared = ids_of(ARGV[5])
local new_counts, n = {}, 0
for i = 1, #shared do
  new_counts[n + 1] = shared[i]
  new_counts[n + 2] = entries[i] or '1'
  n = n + 2
end
if noting then
  local touched = shared
  for i = 1, #set, 2 do touched[#touched + 1] = set[i] end
  -- Every new value is a top, or somebody of the batch lists it.
  for _, id in ipairs(ids_of(ARGV[10])) do touched[#touched + 1] = id end
  for i = lists_from, #ARGV, 2 do
    touched[#touched + 1] = ARGV[i]
    for _, id in ipairs(ids_of((parts_of(ARGV[i + 1])))) do touched[#touched + 1] = id end
  end
  for _, id in ipairs(befores) do touched[#touched + 1] = id end
  for _, member in ipairs(handed) do touched[#touched + 1] = string.sub(member, #lease + 1) end
  note(touched)
end
local changed_lists = {}
for i = 1, #befores do
  local before = befores[i]
  if heirs[before] then -- it did not end in this call
    local at = #changed_lists
    changed_lists[at + 1], changed_lists[at + 2] =
      before, line_entry(ARGV[known_at(i)], earlier[i], ARGV[lists_from + 2 * i - 2])
  end
end
local widened = ARGV[15] ~= '' or sequence % 16 == 1 -- few values cannot make a long list, many calls of them can
set_sorted(edges, changed_lists)
if lists_from > values_from then
  local key = key_of(values, ARGV[values_from])
  redis.call('HSET', key, unpack(ARGV, values_from, lists_from - 1))
  if widened then widen(key) end
end
if #ARGV >= lists_from then
  local key = key_of(edges, ARGV[lists_from])
  redis.call('HSET', key, unpack(ARGV, lists_from))
  if widened then widen(key) end
  redis.call('HINCRBY', meta, 'edges', ARGV[4])
end
-- A leaf has an entry only if it is held more than once.
if n > 0 then set_all(counts, new_counts, widened, #entries == 0 and place_of(counts, new_counts[1]) or nil) end
if #set > 0 then set_all(counts, set, widened, set_at) end
if #handed > 0 then redis.call('ZREM', held, unpack(handed)) end
local tops = members(ids_of(ARGV[10]))
for _, member in ipairs(members(back_tops)) do tops[#tops + 1] = member end
if change then
  -- What the root names is held by the root instead of the writer.
  for i, member in ipairs(tops) do
    if member == lease .. change.target then table.remove(tops, i) break end
  end
end
if #tops > 0 then
  local add = {}
  for i, member in ipairs(tops) do
    add[2 * i - 1] = '0' -- as text: the server writes a number out with all its digits
    add[2 * i] = member
  end
  redis.call('ZADD', held, unpack(add))
end
-- Whether the table of a hash grows about now, which Redis lets it do at powers of two. The new table is memory that was never
-- touched: for nearly every entry that goes in there first, the kernel has to make a page, which takes longer than all the rest.
local function grows(hash)
  local entries = redis.call('HLEN', hash)
  local part = math.frexp(entries) -- entries without their power of two, 0.5 to 1
  return entries > 100000 and (part < 0.52 or part > 0.99)
end
local detail = ''
if ARGV[15] ~= ''
  and (grows(incoming) or grows(key_of(edges, ARGV[15])) or grows(key_of(counts, ARGV[15]))) then detail = 'GROWS' end
--@include next-shelf.lua
local shelf = ''
if widened and (ARGV[15] ~= '' or lists_from > values_from) then
  shelf = next_shelf(ARGV[15] ~= '' and ARGV[15] or ARGV[values_from])
end
did(lease, writer, ARGV[3])
if not change then return {'OK', detail, '', '', {}, shelf} end
redis.call('HSET', roots, change.name, change.version .. ';' .. change.operation .. ';' .. change.target)
if change.old == '' then return {'OK', detail, change.version, change.dropped, {}, shelf} end
--@include settle.lua
for i, id in ipairs(ending) do
  gone[i], gone_edges[i], has_died[id] = id, id, true
  cut = cut + #lists[i] / width
end
local freed_ids =
  finish(release(given_up), 'Rroot ' .. change.name .. ' moved on', change.by, change.space, change.capacity)
return {'OK', detail, change.version, change.dropped, freed_ids, shelf}
