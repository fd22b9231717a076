/* Rooms stand in slots, from which a thread takes one by exchanging it for nothing. */
#include "kernel/tree/tree_room.h"

#include <stdatomic.h>
#include <string.h>

struct lth__tree_rooms {
    size_t count;
    _Atomic(lth__tree_room *) slots[];
};

static void free_room(lth__tree_room *room) {
    for (size_t i = 0; room && i < LTH__TREE_BLOCKS; i++) lth__free(room->block[i]);
    lth__free(room);
}

void *lth__tree_room_get(lth__tree_room *room, size_t number, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    if (room->block[number] && room->bytes[number] >= bytes) return room->block[number];
    lth__free(room->block[number]);
    room->block[number] = lth__alloc(count, size);
    room->bytes[number] = bytes;
    return room->block[number];
}

void *lth__tree_room_zeros(lth__tree_room *room, size_t number, size_t count, size_t size) {
    bool had = room->block[number] && room->bytes[number] >= count * size;
    void *block = lth__tree_room_get(room, number, count, size);
    if (block && !had) memset(block, 0, room->bytes[number]);
    return block;
}

void *lth__tree_room_grow(lth__tree_room *room, size_t number, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
    bool ok = lth__reserve(&room->block[number], &room->bytes[number], bytes + 1, 1);
    return ok ? room->block[number] : NULL;
}

lth__tree_rooms *lth__tree_rooms_create(size_t threads) {
    lth__tree_rooms *rooms = lth__alloc(1, sizeof *rooms + threads * sizeof *rooms->slots);
    if (!rooms) return NULL;
    rooms->count = threads;
    for (size_t i = 0; i < threads; i++) atomic_init(&rooms->slots[i], NULL);
    return rooms;
}

void lth__tree_rooms_free(lth__tree_rooms *rooms) {
    for (size_t i = 0; rooms && i < rooms->count; i++) free_room(atomic_load(&rooms->slots[i]));
    lth__free(rooms);
}

lth__tree_room *lth__tree_room_enter(lth__tree_rooms *rooms) {
    for (size_t i = 0; i < rooms->count; i++) {
        lth__tree_room *room = atomic_exchange(&rooms->slots[i], NULL);
        if (room) return room;
    }
    return lth__calloc(1, sizeof(lth__tree_room));
}

void lth__tree_room_leave(lth__tree_rooms *rooms, lth__tree_room *room) {
    for (size_t i = 0; i < rooms->count; i++) {
        lth__tree_room *none = NULL;
        if (atomic_compare_exchange_strong(&rooms->slots[i], &none, room)) return;
    }
    free_room(room);
}
