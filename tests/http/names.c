/* names - see the header. SPDX-License-Identifier: MIT */
#include "names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int hanging;
static int released;

static void hang(void)
{
    pthread_mutex_lock(&lock);
    hanging++;
    pthread_cond_broadcast(&news);
    while (released == 0) {
        pthread_cond_wait(&news, &lock);
    }
    released--;
    hanging--;
    pthread_mutex_unlock(&lock);
}

void names_wait_for_hang(void)
{
    pthread_mutex_lock(&lock);
    while (hanging == 0) {
        pthread_cond_wait(&news, &lock);
    }
    pthread_mutex_unlock(&lock);
}

void names_release(void)
{
    pthread_mutex_lock(&lock);
    released++;
    pthread_cond_broadcast(&news);
    pthread_mutex_unlock(&lock);
}

struct entry {
    struct addrinfo info;
    struct sockaddr_in address;
};

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *service,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **ret_list)
{
    struct in_addr address;
    if (strcmp(name, "hang.test") == 0) {
        hang();
        return EAI_FAIL;
    }
    if (inet_pton(AF_INET, strcmp(name, "name.test") == 0 ? "127.0.0.1" : name, &address) != 1) {
        return EAI_NONAME;
    }
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry) {
        return EAI_MEMORY;
    }
    entry->address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr = address,
        .sin_port = htons((uint16_t)(service ? strtoul(service, NULL, 10) : 0)),
    };
    entry->info = (struct addrinfo){
        .ai_family = AF_INET,
        .ai_socktype = hints ? hints->ai_socktype : SOCK_STREAM,
        .ai_addrlen = sizeof entry->address,
        .ai_addr = (struct sockaddr *)&entry->address,
    };
    *ret_list = &entry->info;
    return 0;
}

__attribute__((visibility("default"))) void freeaddrinfo(struct addrinfo *list)
{
    free(list); /* the entry begins with it, and there is only one */
}
